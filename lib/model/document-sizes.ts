/**
 * Bytes of a document in one copy of an OpenSearch index, by type, in copies of the sample: `npm run bench -- disk` prints them. `merged`:
 * after merges, which differs by some percent from run to run. `unmerged`: after a load, which differs more.
 */
export type DocumentSizes = { readonly merged: number; readonly unmerged: number }

export const DOCUMENT_SIZES: Readonly<Record<string, DocumentSizes>> = {
  AllergyIntolerance: { merged: 241, unmerged: 1_123 },
  CarePlan: { merged: 494, unmerged: 1_992 },
  CareTeam: { merged: 409, unmerged: 1_413 },
  Claim: { merged: 220, unmerged: 620 },
  Condition: { merged: 325, unmerged: 1_232 },
  DiagnosticReport: { merged: 718, unmerged: 2_168 },
  Encounter: { merged: 240, unmerged: 901 },
  ExplanationOfBenefit: { merged: 390, unmerged: 1_058 },
  ImagingStudy: { merged: 1_311, unmerged: 9_172 },
  Immunization: { merged: 172, unmerged: 493 },
  MedicationRequest: { merged: 243, unmerged: 801 },
  Observation: { merged: 546, unmerged: 1_556 },
  Organization: { merged: 406, unmerged: 2_051 },
  Patient: { merged: 969, unmerged: 5_471 },
  Practitioner: { merged: 430, unmerged: 2_172 },
  Procedure: { merged: 254, unmerged: 811 },
}

/** Sizes of a type that the sample lacks: the mean of all its documents. */
export const MEAN_DOCUMENT: DocumentSizes = { merged: 393, unmerged: 1_193 }

export const documentSizesOf = (type: string): DocumentSizes => DOCUMENT_SIZES[type] ?? MEAN_DOCUMENT
