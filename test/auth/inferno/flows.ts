/** The launches of the kits: who, by which way, for what. */

/** How the client proves who it is at the token endpoint. */
export type Proof = 'basic' | 'public' | 'ES384' | 'RS384'

export type Flow = {
  readonly client: 'symmetric' | 'public' | 'asymmetric'
  readonly proof: Proof
  /** `leaver`: takes everything back. */
  readonly user: 'ann' | 'leaver' | 'doctor'
  /** How the request comes to the authorization endpoint. */
  readonly method: 'GET' | 'POST'
  /** Whether a health record opened the app. */
  readonly isLaunched: boolean
  /** Whether the request has a challenge: SMART v1 knew none. */
  readonly hasChallenge?: false
  readonly scope: string
}

/** US Core's types, of USCDI v1 to v4. */
export const PATIENT_TYPES = [
  ...[
    'AllergyIntolerance',
    'CarePlan',
    'CareTeam',
    'Condition',
    'Coverage',
    'Device',
    'DiagnosticReport',
    'DocumentReference',
    'Encounter',
  ],
  ...['Goal', 'Immunization', 'MedicationDispense', 'MedicationRequest', 'Observation', 'Patient', 'Procedure', 'Provenance'],
  ...['ServiceRequest', 'Specimen'],
]
export const SHARED_TYPES = ['Location', 'Medication', 'Organization', 'Practitioner', 'PractitionerRole', 'RelatedPerson']

const scopesOf = (context: 'patient' | 'user', access: string): string =>
  [...PATIENT_TYPES, ...SHARED_TYPES].map((type) => `${context}/${type}.${access}`).join(' ')

export const STANDALONE_SCOPES = 'launch/patient openid fhirUser offline_access'
const EHR = 'launch openid fhirUser offline_access'

const standalone = { user: 'ann', method: 'GET', isLaunched: false, scope: `${STANDALONE_SCOPES} ${scopesOf('patient', 'rs')}` } as const

export const FLOWS = {
  'standalone, a secret': { ...standalone, client: 'symmetric', proof: 'basic' },
  'standalone, scopes of SMART v1': {
    ...{ ...standalone, client: 'symmetric', proof: 'basic', hasChallenge: false },
    scope: `${STANDALONE_SCOPES} ${scopesOf('patient', 'read')}`,
  },
  'standalone, a public client': { ...standalone, client: 'public', proof: 'public' },
  'standalone, ES384': { ...standalone, client: 'asymmetric', proof: 'ES384' },
  'standalone, RS384, a practitioner chooses the patient': { ...standalone, client: 'asymmetric', proof: 'RS384', user: 'doctor' },
  'EHR launch, by POST': {
    ...{ client: 'symmetric', proof: 'basic', user: 'doctor', method: 'POST', isLaunched: true },
    scope: `${EHR} ${scopesOf('user', 'rs')}`,
  },
  'EHR launch, scopes of SMART v1': {
    ...{ client: 'symmetric', proof: 'basic', user: 'doctor', method: 'GET', isLaunched: true },
    scope: `${EHR} ${scopesOf('user', 'read')}`,
  },
  'EHR launch, scopes of a patient': {
    ...{ client: 'symmetric', proof: 'basic', user: 'doctor', method: 'GET', isLaunched: true },
    scope: `${EHR} patient/Patient.rs patient/Encounter.rs patient/Practitioner.rs`,
  },
} as const satisfies Readonly<Record<string, Flow>>

export type FlowName = keyof typeof FLOWS
