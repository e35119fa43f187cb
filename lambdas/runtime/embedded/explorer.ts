/** Explorer of the embedded server. Its code is loaded at the first request for it, so it costs the start of the server nothing. */
import type { Endpoint } from '../../auth/endpoint.ts'
import type { Assets } from '../../explorer/bundle.ts'
import type { ExplorerParts } from '../../explorer/explorer.ts'

/** `bundle`: makes the files of the pages. It is called again at the next request after it failed. */
export function explorerEndpoint(parts: Omit<ExplorerParts, 'assets'>, bundle: () => Promise<Assets> = bundleOnDemand): Endpoint {
  let made: Promise<Assets> | undefined
  const assets = async (): Promise<Assets> => {
    made ??= bundle()
    try {
      return await made
    } catch (error) {
      made = undefined
      throw error
    }
  }
  return async (request) => (await import('../../explorer/explorer.ts')).explorer({ ...parts, assets })(request)
}

const bundleOnDemand = async (): Promise<Assets> => (await import('../../explorer/bundle.ts')).bundleExplorerAndStop()
