/** State of the exports into a folder: the running job, and the time up to which everything is exported. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, replaceDurably } from '../../lambdas/adapters/filesystem/durable-file.ts'

/**
 * `job`: URL of the running job and its request. `transactionTime`: that of the last incremental export without errors. `of`: request of
 * that export without its `since`. An export with another request starts without a previous time.
 */
export type ExportState = {
  readonly job?: { readonly link: string; readonly asked: string }
  readonly transactionTime?: string
  readonly of?: string
}

export const STATE_FILE = 'export-state.json'

/** Returns the state, or undefined if nothing was exported into the folder yet. Throws if the file holds something else. */
export async function readExportState(folder: string): Promise<ExportState | undefined> {
  const path = join(folder, STATE_FILE)
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found
    throw new SyntaxError()
  } catch (error) {
    if (isMissing(error)) return undefined
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'it says nothing of an export'})`)
  }
}

export const storeExportState = (folder: string, state: ExportState): Promise<void> =>
  replaceDurably(join(folder, STATE_FILE), (file) => file.writeFile(`${JSON.stringify(state)}\n`))
