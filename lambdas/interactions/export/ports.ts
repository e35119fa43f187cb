/** Ports of the interactions for exports, in addition to the store. */

import type { TypeSettings } from '../../export/plan/exported-types.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { ExportUrlSigner } from '../../ports/blobs/file-links.ts'
import type { Workflow } from '../../ports/execution/workflow.ts'
import type { Rows } from '../../ports/rows/rows.ts'

export type ExportPorts = {
  readonly rows: Rows
  readonly workflow: Workflow
  /** Restore generation: number of point-in-time restores of the store. Absent: none. */
  readonly epoch?: number
  readonly urls: ExportUrlSigner
  readonly settings: TypeSettings
  /** Store of the export files. */
  readonly blobs: Pick<BlobStore, 'remove'>
  /** Receives an error that does not change the response, for the operator. */
  readonly report: (error: unknown) => void
}

/** Error of a kick-off without `Prefer: respond-async`. `what`: begins the sentence. */
export const needsPrefer = (what: string): FhirError => fhirError(400, 'required', `${what} requires the header Prefer: respond-async`)
