/** File with the current and earlier base URLs of a server. An absolute reference below any of them refers to this server. */
import { readFile } from 'node:fs/promises'
import { isMissing, replaceDurably } from './durable-file.ts'
import { DataFolderError } from './folder-entries.ts'

/**
 * Adds the base URL to the file, which has one per line. Returns the earlier base URLs. Throws DataFolderError if the file contains a line
 * that is no base URL.
 */
export async function registerBaseUrl(file: string, baseUrl: string): Promise<readonly string[]> {
  const known = await read(file)
  if (!known.includes(baseUrl)) await replaceDurably(file, (handle) => handle.writeFile(`${[...known, baseUrl].join('\n')}\n`))
  return known.filter((each) => each !== baseUrl)
}

async function read(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((error) => {
    if (isMissing(error)) return ''
    throw error
  })
  const lines = text.split('\n').filter((line) => line !== '')
  if (!lines.every((line) => /^https?:\/\/\S+[^/\s]$/.test(line)))
    throw new DataFolderError(
      `${file} holds something other than base URLs: restore it, or remove it if no reference names an earlier base URL`,
    )
  return lines
}
