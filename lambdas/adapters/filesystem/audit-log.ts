/** Audit records as lines of JSON, one file per day (UTC). The first write of a day removes files older than the retention time. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MachineFault } from '../../ports/faults.ts'
import { auditDayOf, auditLineOf } from '../../ports/security/audit-lines.ts'
import { type AuditDurability, type AuditLog, type AuditRecord, reservedBytesOf } from '../../ports/security/audit-log.ts'
import { AuditFile } from './audit-file.ts'
import { dayOfFile } from './audit-lines.ts'

const DAY = 24 * 60 * 60 * 1000
/** Milliseconds until waiting records are written: normally FLUSH_EVERY, and RETRY_EVERY after a failed write. */
const FLUSH_EVERY = 200
const RETRY_EVERY = 1_000
/** Maximum unwritten entries, one per request. While the disk rejects writes, the oldest above it are lost. */
const MOST_HELD = 100_000
export type FilesystemAuditLogOptions = {
  /** Folder of the files. Created if missing. */
  readonly folder: string
  readonly retentionDays: number
  readonly durability: AuditDurability
  /** Whether the clock is plausible enough to remove old files. Default: always. */
  readonly maySweep?: () => boolean
  /**
   * Called when writing begins to fail, once until it succeeds again. Also called when unwritten records are dropped (MOST_HELD), and when
   * old files cannot be removed.
   */
  readonly onError: (error: unknown) => void
}

/** Unwritten records of one request. `written`: called once, after the first attempt to write them. */
type Unwritten = { readonly day: string; readonly lines: string; readonly written?: (error?: Error) => void }

export class FilesystemAuditLog implements AuditLog {
  readonly #options: FilesystemAuditLogOptions
  #waiting: Unwritten[] = []
  #timer: NodeJS.Timeout | undefined
  /** Chain of the operations on the file, which run one after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  #open: { readonly day: string; readonly file: AuditFile } | undefined
  /** End of the lines in files that were closed, by day. When a file is opened again, everything after that end is cut off. */
  readonly #ends = new Map<string, number>()
  /** Bytes that `prepare` reserved in the file for records that are not written yet. */
  #prepared = 0
  #isFailing = false
  #swept = ''

  constructor(options: FilesystemAuditLogOptions) {
    this.#options = options
  }

  prepare(at: number, interaction: string): Promise<void> | undefined {
    if (this.#options.durability === 'batched') return undefined
    return this.#prepare(auditDayOf(at), roomOf(interaction))
  }

  record(...records: readonly [AuditRecord, ...(readonly AuditRecord[])]): Promise<void> | undefined {
    const [{ at, interaction }] = records
    const day = auditDayOf(at)
    const lines = records.map(auditLineOf).join('')
    if (this.#options.durability === 'batched') {
      this.#waiting.push({ day, lines })
      this.#writeSoon()
      return undefined
    }
    const room = roomOf(interaction)
    const more = Buffer.byteLength(lines) - room
    // guard: large-audit-record-takes-no-room-of-others
    if (more <= 0) return this.#recorded(day, lines, room)
    return this.#prepare(day, more).then(
      () => this.#recorded(day, lines, room + more),
      (error: unknown) => {
        this.#prepared = Math.max(0, this.#prepared - room)
        this.#hold([...this.#waiting, { day, lines }])
        throw error
      },
    )
  }

  /** Queues the lines and writes them at once. Resolves when they are on disk. `room`: bytes reserved for them. */
  #recorded(day: string, lines: string, room: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const written = (error?: Error): void => {
        // Release the reservation only now. Otherwise the lines would use the bytes reserved for another request.
        this.#prepared = Math.max(0, this.#prepared - room)
        if (error === undefined) resolve()
        else reject(error)
      }
      this.#waiting.push({ day, lines, written })
      void this.#write().catch(() => undefined)
    })
  }

  /** Writes the remaining records and closes the file. Throws the fault `not-recorded` if some cannot be written and are lost. */
  async close(): Promise<void> {
    try {
      await this.#write()
    } catch (error) {
      throw new MachineFault('not-recorded', `${this.#waiting.length} audit records are lost, for they cannot be written`, { cause: error })
    } finally {
      clearTimeout(this.#timer)
      await this.#leaveFile()
    }
  }

  async #prepare(day: string, bytes: number): Promise<void> {
    this.#prepared += bytes
    const room = this.#prepared
    if (!this.#isFailing && this.#open?.day === day && this.#open.file.hasRoomFor(room)) return
    try {
      if (this.#isFailing) await this.#write()
      await this.#inTurn(async () => {
        const file = await this.#fileOf(day)
        if (!file.hasRoomFor(room)) await file.reserve(room)
      })
      this.#isFailing = false
    } catch (error) {
      this.#prepared -= bytes
      this.#failed(error)
      throw new MachineFault('not-recorded', 'no room for audit records', { cause: error })
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => void this.#write().catch(() => undefined), this.#isFailing ? RETRY_EVERY : FLUSH_EVERY)
  }

  /**
   * Writes all waiting records, with one write per day. Records of a failed write stay queued, in their order, and the fault `not-recorded`
   * is thrown.
   */
  #write(): Promise<void> {
    return this.#inTurn(async () => {
      clearTimeout(this.#timer)
      this.#timer = undefined
      const waiting = this.#waiting
      if (waiting.length === 0) return
      this.#waiting = []
      const left: Unwritten[] = []
      for (const [day, unwritten] of Map.groupBy(waiting, (each) => each.day)) left.push(...(await this.#append(day, unwritten)))
      this.#isFailing = left.length > 0
      if (left.length === 0) return
      // guard: failed-audit-entries-stay-queued
      this.#hold([...left, ...this.#waiting])
      throw new MachineFault('not-recorded', 'audit records cannot be written')
    })
  }

  /** Appends the records of a day. Returns those that could not be written. */
  async #append(day: string, unwritten: readonly Unwritten[]): Promise<readonly Unwritten[]> {
    try {
      const file = await this.#fileOf(day)
      await file.append(unwritten.map(({ lines }) => lines).join(''), this.#options.durability === 'strict')
    } catch (error) {
      this.#failed(error)
      await this.#leaveFile()
      for (const { written } of unwritten)
        written?.(new MachineFault('not-recorded', 'the audit record cannot be written', { cause: error }))
      return unwritten.map(({ lines }) => ({ day, lines }))
    }
    for (const { written } of unwritten) written?.()
    this.#sweep(day)
    return []
  }

  #hold(unwritten: readonly Unwritten[]): void {
    if (unwritten.length > MOST_HELD)
      this.#options.onError(new Error(`${unwritten.length - MOST_HELD} audit records are lost: the disk takes none`))
    // guard: audit-queue-limit
    this.#waiting = unwritten.slice(-MOST_HELD)
    this.#writeSoon()
  }

  #failed(error: unknown): void {
    if (!this.#isFailing) this.#options.onError(error)
    this.#isFailing = true
  }

  async #fileOf(day: string): Promise<AuditFile> {
    if (this.#open?.day === day) return this.#open.file
    await this.#leaveFile()
    const file = await AuditFile.open(join(this.#options.folder, `${day}.jsonl`), this.#ends.get(day))
    this.#open = { day, file }
    return file
  }

  /** Closes the file. A half-written line that cannot be cut off now is cut off when the file is opened again. */
  async #leaveFile(): Promise<void> {
    if (this.#open === undefined) return
    const { day, file } = this.#open
    this.#open = undefined
    this.#ends.set(day, file.end)
    await file.close().catch(() => undefined)
  }

  #sweep(today: string): void {
    const { maySweep = () => true } = this.#options
    if (this.#swept === today || !maySweep()) return
    this.#swept = today
    try {
      removeBefore(this.#options.folder, auditDayOf(Date.parse(today) - this.#options.retentionDays * DAY))
    } catch (error) {
      this.#options.onError(error)
    }
  }
}

/** Removes the files of days before `oldest`, also those of commands, which no other code removes. */
function removeBefore(folder: string, oldest: string): void {
  for (const name of readdirSync(folder)) {
    const day = dayOfFile(name)
    if (day !== undefined && day < oldest) rmSync(join(folder, name))
  }
}

/** Returns the bytes to reserve for the record of an interaction, including the line break. */
const roomOf = (interaction: string): number => reservedBytesOf(interaction) + 1
