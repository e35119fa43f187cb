/** Audit records as lines of JSON, one file per day (UTC), files removed after their retention. */
import { appendFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditLog, AuditRecord } from '../../ports/audit-log.ts'

const DAY = 24 * 60 * 60 * 1000
const FLUSH_EVERY = 200

export type FilesystemAuditLogOptions = {
  readonly folder: string
  readonly retentionDays: number
  /** Whether files may be removed by their dates now; absent: always. */
  readonly maySweep?: () => boolean
  /** Told when records could not be written; they are kept and tried again. */
  readonly onError: (error: unknown) => void
}

export class FilesystemAuditLog implements AuditLog {
  readonly #options: FilesystemAuditLogOptions
  #waiting = new Map<string, string[]>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #swept = ''

  constructor(options: FilesystemAuditLogOptions) {
    this.#options = options
    mkdirSync(options.folder, { recursive: true })
  }

  record(entry: AuditRecord): void {
    const day = new Date(entry.at).toISOString().slice(0, 10)
    const lines = this.#waiting.get(day)
    const line = `${JSON.stringify({ ...entry, at: new Date(entry.at).toISOString() })}\n`
    if (lines === undefined) this.#waiting.set(day, [line])
    else lines.push(line)
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_EVERY)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writing
    for (const [day, lines] of this.#waiting) appendFileSync(this.#file(day), lines.join(''))
    this.#waiting.clear()
  }

  #flush(): void {
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = new Map()
    this.#writing = this.#writing.then(() => this.#write(waiting))
  }

  async #write(waiting: ReadonlyMap<string, string[]>): Promise<void> {
    for (const [day, lines] of waiting) {
      try {
        await appendFile(this.#file(day), lines.join(''))
        this.#sweep(day)
      } catch (error) {
        this.#options.onError(error)
        this.#waiting.set(day, [...lines, ...(this.#waiting.get(day) ?? [])])
        this.#timer ??= setTimeout(() => this.#flush(), FLUSH_EVERY)
      }
    }
  }

  #sweep(today: string): void {
    const { maySweep = () => true } = this.#options
    if (this.#swept === today || !maySweep()) return
    this.#swept = today
    const oldest = new Date(Date.parse(today) - this.#options.retentionDays * DAY).toISOString().slice(0, 10)
    for (const name of readdirSync(this.#options.folder)) {
      const [, day] = /^(\d{4}-\d{2}-\d{2})\.jsonl$/.exec(name) ?? []
      if (day !== undefined && day < oldest) rmSync(join(this.#options.folder, name))
    }
  }

  #file(day: string): string {
    return join(this.#options.folder, `${day}.jsonl`)
  }
}
