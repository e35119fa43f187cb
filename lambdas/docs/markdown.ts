/** Text of the generated pages. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Pages: path from the root of the repository → text. */
export type Pages = ReadonlyMap<string, string>

export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')

export function writePages(pages: Pages): void {
  for (const [path, text] of pages) writeFileSync(join(ROOT, path), text)
}
