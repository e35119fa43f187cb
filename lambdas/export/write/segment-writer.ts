/** Writes a segment of an export, slice by slice: reads pages of a scan, selects versions and writes them to the files of the job. */
import type { ScanPage, ScanRequest } from '../../ports/store/resource-store.ts'
import { CHECKPOINT_INTERVAL_MS, storeCheckpoint } from '../job/checkpoint.ts'
import { type Job, segmentRowsOf } from '../job/job.ts'
import { JobWatch } from '../job/job-watch.ts'
import { AUTHORIZATION } from '../plan/partner-types.ts'
import type { Segment, SegmentPiece } from '../plan/segment.ts'
import { waitUntilSettled } from '../plan/settled-wait.ts'
import { selectionOf } from '../select/job-selection.ts'
import { selectOutsidePeriod } from '../select/outside-period.ts'
import { type LeaveOut, type Selection, selectVersions } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { WriterOutput } from './output.ts'

/** Versions per page. A writer holds one page in memory. */
const PAGE = 500

/** Runs one slice of the segment. Returns whether another slice is needed; a stopped job needs none. */
export async function writeSlice(parts: ExportParts, job: Job, name: string): Promise<boolean> {
  const segment = await parts.rows.read<Segment>(segmentRowsOf(job.id), name)
  if (segment === undefined || segment.isDone) return false
  const selection = await selectionOf(parts, job)
  return new Slice({ parts, job, name, selection, watch: new JobWatch(parts, job) }, segment).write()
}

type SliceParts = {
  readonly parts: ExportParts
  readonly job: Job
  readonly name: string
  readonly selection: Selection
  readonly watch: JobWatch
}

class Slice {
  readonly #slice: SliceParts
  readonly #output: WriterOutput
  /** The row of the segment, plus the progress since the last checkpoint. */
  #segment: Segment
  readonly #until: number
  #nextCheckpoint: number

  constructor(slice: SliceParts, segment: Segment) {
    const { parts, job } = slice
    this.#slice = slice
    this.#output = new WriterOutput(parts, job, slice.selection, segment)
    this.#segment = segment
    this.#until = parts.elapsed() + parts.budget
    this.#nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
  }

  async write(): Promise<boolean> {
    const { parts, job, watch } = this.#slice
    // A store may show its latest commits late, even after all retries of a step. So a slice waits for them instead of failing, and the
    // next one continues to wait.
    // guard: export-writes-after-settled-writes
    if (!(await waitUntilSettled({ parts, job, watch, until: this.#until }, job.transactionTime))) return true
    while (this.#segment.at < this.#segment.pieces.length) {
      const { at } = this.#segment
      for await (const page of parts.resources.scan(this.#request())) {
        await this.#export(page)
        // guard: stopped-export-writes-nothing
        if (!(await watch.isWanted())) return false
        if (this.#segment.at === this.#segment.pieces.length) break
        if (parts.elapsed() >= this.#until) {
          await this.#checkpoint(false)
          return true
        }
        // Another writer has stored a checkpoint first. That writer continues.
        if (parts.elapsed() >= this.#nextCheckpoint && !(await this.#checkpoint(false))) return true
      }
      // A scan of a piece without any entry may return no page.
      if (this.#segment.at === at) this.#goOn(0, undefined)
    }
    return !(await this.#checkpoint(true))
  }

  #request(): ScanRequest {
    const { tenant, transactionTime, asked } = this.#slice.job
    const { pieces, at, cursor } = this.#segment
    const { entries: _, ...piece } = pieces[at]!
    return {
      ...{ tenant, asOf: transactionTime, ...piece, limit: PAGE, deletions: asked.since !== undefined, tellsDamaged: true },
      ...(cursor === undefined ? {} : { cursor }),
    }
  }

  async #export({ versions, damaged = [], cursor }: ScanPage): Promise<void> {
    for (const version of damaged) this.#output.leaveOut(version, 'damaged')
    const { selection } = this.#slice
    const leaveOut: LeaveOut = (...left) => this.#output.leaveOut(...left)
    await this.#output.add(await selectVersions(selection, versions, leaveOut))
    this.#output.follow(await selectOutsidePeriod(selection, versions, [AUTHORIZATION], leaveOut))
    this.#goOn(versions.length + damaged.length, cursor)
  }

  /** Advances the progress by one page. `seen`: versions of the page. `cursor`: position after it; undefined if the piece is done. */
  #goOn(seen: number, cursor: string | undefined): void {
    const { pieces, at, cursor: _, ...rest } = this.#segment
    const end = entriesOf(pieces.slice(0, at + 1))
    this.#segment =
      cursor === undefined
        ? { ...rest, pieces, at: at + 1, seen: end }
        : { ...rest, pieces, at, cursor, seen: Math.min(rest.seen + seen, end) }
  }

  /** Stores a checkpoint. Returns false if another writer stored one first; the work of this writer is then discarded. */
  async #checkpoint(isDone: boolean): Promise<boolean> {
    const { parts, job, name } = this.#slice
    this.#nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
    return this.#output.checkpoint(async (done) => {
      const stored = await storeCheckpoint(parts.rows, [segmentRowsOf(job.id), name], this.#segment, { isDone, ...done })
      this.#segment = stored ?? this.#segment
      return stored !== undefined
    })
  }
}

const entriesOf = (pieces: readonly SegmentPiece[]): number => pieces.reduce((sum, { entries }) => sum + entries, 0)
