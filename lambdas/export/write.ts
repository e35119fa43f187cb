/** Writes a segment of an export, slice by slice: pages of a scan, of them what is selected, into the files of the job. */
import type { ResourceVersion, ScanRequest } from '../ports/resource-store.ts'
import { CHECKPOINT, keepRow } from './checkpoint.ts'
import { FileWriter } from './file-writer.ts'
import { type Job, segmentsOf } from './job.ts'
import { deletionsLine, type Lines, lineOf, linesOf } from './lines.ts'
import { Met } from './met.ts'
import type { Piece, Segment } from './segment.ts'
import { type Selection, selected } from './selection.ts'
import { selectionOf } from './selection-of.ts'
import type { ExportParts } from './steps.ts'
import { Watch } from './watch.ts'

/** Versions of a page: a writer holds one. */
const PAGE = 500

/** Whether there is more to do. */
export async function writeSlice(parts: ExportParts, job: Job, name: string): Promise<boolean> {
  const segment = await parts.rows.read<Segment>(segmentsOf(job.id), name)
  if (segment === undefined || segment.isDone) return false
  const selection = await selectionOf(parts, job)
  const met = new Met(parts, selection, segment.met)
  return new Slice({ parts, job, name, selection, met, watch: new Watch(parts, job) }, segment).write()
}

/** What is selected, into the files it belongs to. */
export function addLines(writer: FileWriter, versions: readonly ResourceVersion[], lines: Lines): void {
  const deletions = versions.filter(({ deleted }) => deleted)
  for (const version of versions) if (!version.deleted) writer.add(version.type, lineOf(version, lines))
  if (deletions.length > 0) writer.add('deleted', deletionsLine(deletions))
}

type SliceOf = {
  readonly parts: ExportParts
  readonly job: Job
  readonly name: string
  readonly selection: Selection
  readonly met: Met
  readonly watch: Watch
}

class Slice {
  readonly #of: SliceOf
  readonly #lines: Lines
  readonly #writer: FileWriter
  /** As its row is, but for what was done since the last checkpoint. */
  #segment: Segment
  readonly #until: number
  #nextCheckpoint: number

  constructor(of: SliceOf, segment: Segment) {
    const { parts, job } = of
    this.#of = of
    this.#lines = linesOf(job)
    this.#writer = new FileWriter(parts, job, segment.written)
    this.#segment = segment
    this.#until = parts.elapsed() + parts.budget
    this.#nextCheckpoint = parts.elapsed() + CHECKPOINT
  }

  async write(): Promise<boolean> {
    const { parts, watch } = this.#of
    while (this.#segment.at < this.#segment.pieces.length) {
      const { at } = this.#segment
      for await (const { versions, cursor } of parts.resources.scan(this.#request())) {
        await this.#export(versions)
        this.#goOn(versions.length, cursor)
        if (!(await watch.isWanted())) return false
        if (this.#segment.at === this.#segment.pieces.length) break
        if (parts.elapsed() >= this.#until) {
          await this.#checkpoint(false)
          return true
        }
        // Whoever was faster goes on.
        if (parts.elapsed() >= this.#nextCheckpoint && !(await this.#checkpoint(false))) return true
      }
      // Of what nobody ever wrote a store need not have a page.
      if (this.#segment.at === at) this.#goOn(0, undefined)
    }
    return !(await this.#checkpoint(true))
  }

  #request(): ScanRequest {
    const { tenant, transactionTime, asked } = this.#of.job
    const { pieces, at, cursor } = this.#segment
    const { entries: _, ...piece } = pieces[at]!
    return {
      ...{ tenant, asOf: transactionTime, ...piece, limit: PAGE, deletions: asked.since !== undefined },
      ...(cursor === undefined ? {} : { cursor }),
    }
  }

  async #export(versions: readonly ResourceVersion[]): Promise<void> {
    const some = await selected(this.#of.selection, versions)
    addLines(this.#writer, some, this.#lines)
    await this.#of.met.add(some)
    await this.#writer.flush()
  }

  /** `cursor`: none where the piece is done. */
  #goOn(seen: number, cursor: string | undefined): void {
    const { pieces, at, cursor: _, ...rest } = this.#segment
    const end = entriesOf(pieces.slice(0, at + 1))
    this.#segment =
      cursor === undefined
        ? { ...rest, pieces, at: at + 1, seen: end }
        : { ...rest, pieces, at, cursor, seen: Math.min(rest.seen + seen, end) }
  }

  /** False where another writer left a checkpoint since: what this one did is forgotten. */
  async #checkpoint(isDone: boolean): Promise<boolean> {
    const { parts, job, name, met } = this.#of
    this.#nextCheckpoint = parts.elapsed() + CHECKPOINT
    const metBlobs = await met.checkpoint()
    return this.#writer.checkpoint(async (written) => {
      const kept = await keepRow(parts.rows, [segmentsOf(job.id), name], this.#segment, { isDone, written, met: metBlobs })
      this.#segment = kept ?? this.#segment
      return kept !== undefined
    })
  }
}

const entriesOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { entries }) => sum + entries, 0)
