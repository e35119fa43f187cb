/** Why a version is left out of an export though it may belong there, for the file of errors. */
import { FhirError } from '../../fhir/outcome.ts'
import { Damaged } from '../../ports/faults/damaged.ts'

export type OmissionReason = 'damaged' | 'undecided'

export const OMISSION_TEXTS: Readonly<Record<OmissionReason, string>> = {
  damaged: 'what is stored of it is damaged',
  undecided: 'a search parameter that a _typeFilter looks at fails on it, or takes too long',
}

/** Of what was thrown while one version was judged. undefined: it is about no single version. */
export const omissionReasonOf = (error: unknown): OmissionReason | undefined =>
  (error instanceof Damaged && error.part === 'store') || error instanceof FhirError ? 'damaged' : undefined
