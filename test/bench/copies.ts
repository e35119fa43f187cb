/** Copies of Synthea Bundles with other ids, for larger data sets. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { SourceFile } from '../../bin/load/file-reader.ts'

const UUID = /\b([0-9a-f])([0-9a-f]{7}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/g

/** Writes a copy of each file into a new folder. `number`: 1 to 15; each gives other ids. References inside a Bundle still fit. */
export function writeCopies(files: readonly SourceFile[], folder: string, number: number): void {
  mkdirSync(folder, { recursive: true })
  for (const { file } of files) {
    const bytes = readFileSync(file)
    const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
    writeFileSync(
      join(folder, basename(file, '.gz')),
      text.replace(UUID, (_, first: string, rest: string) => digitAfter(first, number) + rest),
    )
  }
}

const digitAfter = (digit: string, number: number): string => ((Number.parseInt(digit, 16) + number) % 16).toString(16)
