/** Reasons for omissions: versions that may belong to an export but are left out. The error file reports them. */
import { FhirError } from '../../fhir/outcome.ts'
import { isFault } from '../../ports/faults.ts'

export type OmissionReason = 'damaged' | 'undecided'

export const OMISSION_TEXTS: Readonly<Record<OmissionReason, string>> = {
  damaged: 'what is stored of it is damaged',
  undecided: 'a search parameter that a _typeFilter looks at fails on it, or takes too long',
}

/**
 * Returns the reason for an error that was thrown while one version was checked. Returns undefined if the error is not about a single
 * version.
 */
export const omissionReasonOf = (error: unknown): OmissionReason | undefined =>
  isFault(error, 'store-damaged') || error instanceof FhirError ? 'damaged' : undefined
