/** Codes and profiles of the guides HRex and PDex. http://hl7.org/fhir/us/davinci-hrex, http://hl7.org/fhir/us/davinci-pdex */
import type { Code } from './elements.ts'

const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem'
const HREX = 'http://hl7.org/fhir/us/davinci-hrex'
const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'

/** System of the numbers of American providers. */
export const NPI = 'http://hl7.org/fhir/sid/us-npi'

/** Types of identifiers: the number of a member on a card, and the unique identifier of a member. */
export const MEMBER_NUMBER: Code = { system: `${TERMINOLOGY}/v2-0203`, code: 'MB' }
export const UNIQUE_MEMBER_IDENTIFIER: Code = { system: `${HREX}/CodeSystem/hrex-temp`, code: 'UMB' }

export const BIRTH_SEX = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-birthsex'

/** Codes of a Consent. */
export const PATIENT_PRIVACY: Code = { system: `${TERMINOLOGY}/consentscope`, code: 'patient-privacy' }
export const INFORMATION_DISCLOSURE: Code = { system: `${TERMINOLOGY}/v3-ActCode`, code: 'IDSCL' }
export const DISCLOSE: Code = { system: `${TERMINOLOGY}/consentaction`, code: 'disclose' }
/** Roles of its actors. */
export const RECIPIENT: Code = { system: `${TERMINOLOGY}/v3-ParticipationType`, code: 'IRCP' }
export const SOURCE: Code = { system: `${TERMINOLOGY}/provenance-participant-type`, code: 'performer' }

/** Policies of a Consent between payers: all data that is not sensitive, and all data. */
export const REGULAR_POLICY = `${HREX}/StructureDefinition-hrex-consent.html#regular`
export const SENSITIVE_POLICY = `${HREX}/StructureDefinition-hrex-consent.html#sensitive`

/** Interfaces that the category of a Consent may name. */
export const CONSENT_PURPOSES = `${PDEX}/CodeSystem/pdex-consent-api-purpose`

export const OPT_OUT_GROUP = `${PDEX}/StructureDefinition/pdex-member-opt-out`
export const OPT_OUT_SCOPES = `${PDEX}/CodeSystem/opt-out-scope`

const PROFILE = `${PDEX}/StructureDefinition`
/** Profiles of the Groups of a match: between payers, and for providers. Members who opted out have OPT_OUT_GROUP. */
export const MATCHED_GROUP = { payer: `${PROFILE}/pdex-member-match-group`, provider: `${PROFILE}/pdex-provider-member-match` }
export const NOT_MATCHED_GROUP = { payer: `${PROFILE}/pdex-member-no-match-group`, provider: `${PROFILE}/pdex-provider-member-no-match` }

export const TREATMENT_GROUP = `${PROFILE}/pdex-treatment-relationship`

export const MATCHED_PATIENT = `${PROFILE}/base-ext-match-parameters`
export const MATCHED_COVERAGE = `${PROFILE}/base-ext-match-coverage`
/** Codes of the Groups of a match. */
export const MATCH_RESULTS = `${PDEX}/CodeSystem/PdexMultiMemberMatchResultCS`
