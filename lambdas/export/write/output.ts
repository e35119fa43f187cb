/** Output of a writer: lines of files, keys of referenced resources, and omissions. */
import type { DamagedVersion, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Job } from '../job/job.ts'
import type { WrittenFiles } from '../plan/segment.ts'
import { type OmissionReason, omissionReasonOf } from '../select/omission-reason.ts'
import type { Selection } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { FileWriter } from './file-writer.ts'
import { deletionLineOf, type LineOptions, lineOf, lineOptionsOf } from './ndjson-lines.ts'
import { Omissions } from './omissions.ts'
import { ReferencedKeys } from './referenced-keys.ts'

/** Content of a checkpoint. `met`: blobs with the keys that exported resources refer to. */
type Checkpoint = { readonly written: WrittenFiles; readonly met: readonly string[] }

export class WriterOutput {
  readonly #lines: LineOptions
  readonly #writer: FileWriter
  readonly #references: ReferencedKeys
  readonly #leftOut: Omissions

  /** Continues from a checkpoint. */
  constructor(parts: ExportParts, job: Job, selection: Selection, { written, met }: Checkpoint) {
    this.#lines = lineOptionsOf(job)
    this.#writer = new FileWriter(parts, job, written)
    this.#references = new ReferencedKeys(parts, selection, met)
    this.#leftOut = new Omissions(this.#writer, selection)
  }

  /** Adds the lines and references of selected versions. Deletions go into the file of deletions. */
  async add(versions: readonly ResourceVersion[]): Promise<void> {
    for (const version of versions) if (!version.deleted) this.#addLine(version)
    const deletions = deletionLineOf(
      versions.filter(({ deleted }) => deleted),
      this.#lines,
    )
    if (deletions !== undefined) this.#writer.add('deleted', deletions)
    await this.#references.flush()
    await this.#writer.flush()
  }

  /** Adds references of versions that another resource names. They are already exported, or outside the period of the export. */
  follow(versions: readonly ResourceVersion[]): void {
    for (const version of versions) this.#orLeaveOut(version, () => this.#references.addWhenNamed(version))
  }

  leaveOut(version: ResourceVersion | DamagedVersion, reason: OmissionReason): void {
    this.#leftOut.add(version, reason)
  }

  async checkpoint(keep: (done: Checkpoint) => Promise<boolean>): Promise<boolean> {
    const met = await this.#references.checkpoint()
    return this.#writer.checkpoint((written) => keep({ written, met }))
  }

  #addLine(version: ResourceVersion): void {
    this.#orLeaveOut(version, () => {
      const line = lineOf(version, this.#lines)
      if (line === undefined) return
      this.#references.add(version)
      this.#writer.add(version.type, line)
    })
  }

  /** Runs the action. Reports the version if the action fails because of it. */
  #orLeaveOut(version: ResourceVersion, action: () => void): void {
    try {
      action()
    } catch (error) {
      const reason = omissionReasonOf(error)
      if (reason === undefined) throw error
      this.leaveOut(version, reason)
    }
  }
}
