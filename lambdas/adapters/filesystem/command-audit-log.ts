/**
 * Audit records of commands, which may run in parallel with a server and with each other. They are appended to a separate file for each day
 * (UTC), because only the server may write to its own file. `record` resolves when the records are on disk.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { MachineFault } from '../../ports/faults.ts'
import { auditDayOf, auditLineOf } from '../../ports/security/audit-lines.ts'
import type { AuditLog, AuditRecord } from '../../ports/security/audit-log.ts'
import { flushFolder, giveToOwner, makeFolder } from './durable-file.ts'

export class CommandAuditLog implements AuditLog {
  readonly #folder: string
  /** Result of opening the file, shared by concurrent calls of `prepare`. */
  #opening: Promise<FileHandle> | undefined
  #file: FileHandle | undefined

  /** `folder`: created if missing. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async prepare(at: number): Promise<void> {
    try {
      this.#opening ??= this.#opened(at)
      this.#file = await this.#opening
    } catch (error) {
      this.#opening = undefined
      throw new MachineFault('not-recorded', `audit records cannot be written to ${this.#folder}, and without one nothing is changed`, {
        cause: error,
      })
    }
  }

  async record(...records: readonly AuditRecord[]): Promise<void> {
    try {
      await this.#file!.appendFile(records.map(auditLineOf).join(''))
      await this.#file!.sync()
    } catch (error) {
      throw new MachineFault('not-recorded', 'what was done could not be recorded', { cause: error })
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#opening = this.#file = undefined
  }

  async #opened(at: number): Promise<FileHandle> {
    await makeFolder(this.#folder)
    const file = await open(join(this.#folder, `${auditDayOf(at)}.commands.jsonl`), 'a', 0o600)
    await giveToOwner(this.#folder, ({ uid, gid }) => file.chown(uid, gid))
    await flushFolder(this.#folder)
    return file
  }
}
