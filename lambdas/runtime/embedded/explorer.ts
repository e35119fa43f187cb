/** Explorer of the embedded server. Its code is loaded at the first request for it, so it costs the start of the server nothing. */
import type { Endpoint } from '../../auth/endpoint.ts'
import type { ExplorerParts } from '../../explorer/explorer.ts'
import { once } from '../once.ts'

export function explorerEndpoint(parts: Omit<ExplorerParts, 'assets'>): Endpoint {
  const opened = once(async () => {
    const [{ explorer }, { bundleExplorer }] = await Promise.all([import('../../explorer/explorer.ts'), import('../../explorer/bundle.ts')])
    return explorer({ ...parts, assets: once(bundleExplorer) })
  })
  return async (request) => (await opened())(request)
}
