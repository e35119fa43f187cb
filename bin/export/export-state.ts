/** What is known of the exports into a folder: the job that is under way, and up to when all is there. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, replaceDurably } from '../../lambdas/adapters/filesystem/durable-file.ts'

/**
 * `job`: its URL, and what it was asked for. `transactionTime`: of the last export of which every file was as the server had said; `of`: what
 * that one was asked for, whatever its since. Who asks for something else has nothing to go on from.
 */
export type ExportState = {
  readonly job?: { readonly link: string; readonly asked: string }
  readonly transactionTime?: string
  readonly of?: string
}

export const STATE_FILE = 'export-state.json'

/** undefined: nothing was exported into the folder yet. Error where the file is none of these. */
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
