/** Reads audit records from the daily files of the server and of commands, also while these are written. */
import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { auditDayOf } from '../../ports/security/audit-lines.ts'
import type { AuditRecord } from '../../ports/security/audit-log.ts'
import { type AuditFilter, type AuditReader, auditTestOf, type Period } from '../../ports/security/audit-reader.ts'
import { dayOfFile, parseLine } from './audit-lines.ts'

export class FilesystemAuditReader implements AuditReader {
  readonly #folder: string
  readonly #onDamaged: (file: string, line: number) => void

  /** `onDamaged`: called for each line that is no record and is skipped. The last line of a file may be incomplete. */
  constructor(folder: string, onDamaged: (file: string, line: number) => void) {
    this.#folder = folder
    this.#onDamaged = onDamaged
  }

  async *read({ from, to }: Period, filter: AuditFilter): AsyncGenerator<AuditRecord> {
    const isWanted = auditTestOf(filter)
    for (const name of filesBetween(this.#folder, auditDayOf(from), auditDayOf(to)))
      for await (const record of this.#recordsOf(join(this.#folder, name)))
        if (record.at >= from && record.at < to && isWanted(record)) yield record
  }

  async *#recordsOf(file: string): AsyncGenerator<AuditRecord> {
    let number = 0
    let damaged: number | undefined
    for await (const line of linesOf(file)) {
      number++
      // The server reserves space by empty lines.
      if (line === '') continue
      if (damaged !== undefined) this.#onDamaged(file, damaged)
      const record = parseLine(line)
      damaged = record === undefined ? number : undefined
      if (record !== undefined) yield record
    }
  }
}

/** Yields the lines of the file. Unlike node:readline it does not split at U+2028, which JSON may contain. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of createReadStream(file, 'utf8')) {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Returns the names of the files of the days, both included, by day. */
function filesBetween(folder: string, first: string, last: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => {
      const day = dayOfFile(name)
      return day !== undefined && day >= first && day <= last
    })
    .sort()
}
