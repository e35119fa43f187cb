/** What requests about exports need beyond the store. */

import type { TypeSettings } from '../../export/plan/exported-types.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { ExportUrlSigner } from '../../ports/blobs/file-links.ts'
import type { Workflow } from '../../ports/execution/workflow.ts'
import type { Rows } from '../../ports/rows/rows.ts'

export type ExportPorts = {
  readonly rows: Rows
  readonly workflow: Workflow
  /** How often the store was set back to an earlier time. Absent: never. */
  readonly epoch?: number
  readonly urls: ExportUrlSigner
  readonly settings: TypeSettings
  /** Of export files. */
  readonly blobs: Pick<BlobStore, 'remove'>
  /** Gets what went wrong after the answer was settled. */
  readonly report: (error: unknown) => void
}
