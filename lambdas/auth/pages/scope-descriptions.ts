/** Describes scopes in plain words, for users that decide about them. */
import { type Letter, parseScope, type ResourceScope } from '../../access/scopes.ts'
import { categoryOf } from '../grants/category-scopes.ts'
import { SESSION_LIFETIME_MS } from '../login/sessions.ts'
import { MAX_ACCESS_TOKEN_SECONDS, REFRESH_LIFETIMES_MS } from '../tokens/lifetimes.ts'

const HOUR = 60 * 60 * 1000
const inUnits = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** Maximum lifetime of an access token, in words. */
export const ACCESS_DURATION_TEXT = inUnits((MAX_ACCESS_TOKEN_SECONDS * 1000) / HOUR, 'hour')
const SESSION_LASTS = inUnits(SESSION_LIFETIME_MS / HOUR, 'hour')
const UNUSED_LASTS = inUnits(REFRESH_LIFETIMES_MS.offline_access / (24 * HOUR), 'day')

const NAMED: Readonly<Record<string, string>> = {
  openid: 'Confirm that you signed in',
  fhirUser: 'See who you are here: a patient, a relative or a member of staff',
  profile: 'See your name',
  offline_access: `Keep access while you are away, until you end it or the app has not used it for ${UNUSED_LASTS}`,
  online_access: `Keep access while you are signed in, at most ${SESSION_LASTS}`,
  launch: 'See which patient was open when you started the app',
  'launch/patient': 'See which patient you choose',
  'launch/encounter': 'See which visit was open when you started the app',
}

/** Whether the scope gives the client a refresh token, by which it can renew access. */
export const isRefreshScope = (scope: string): boolean => Object.hasOwn(REFRESH_LIFETIMES_MS, scope)

const VERBS: Readonly<Record<Letter, string>> = { c: 'add', r: 'read', u: 'change', d: 'delete', s: 'search' }
const WHOSE = { patient: 'of the patient', user: 'that you can see', system: 'of all patients' }

/** Plain words for the types that apps request most. Other types appear by their type name. */
const DATA: Readonly<Record<string, string>> = {
  '*': 'all data',
  AllergyIntolerance: 'allergies',
  Appointment: 'appointments',
  CarePlan: 'care plans',
  CareTeam: 'care teams',
  Claim: 'insurance claims',
  Condition: 'diagnoses and health problems',
  Coverage: 'insurance coverage',
  Device: 'implants and devices',
  DiagnosticReport: 'reports of tests',
  DocumentReference: 'documents',
  Encounter: 'visits',
  ExplanationOfBenefit: 'insurance bills and payments',
  Goal: 'health goals',
  Immunization: 'vaccinations',
  MedicationRequest: 'prescriptions',
  Observation: 'measurements and test results',
  Patient: 'personal details',
  Procedure: 'procedures',
}

export function describeScope(text: string): string {
  const scope = parseScope(text)
  if (scope === undefined) return text
  if (scope.kind === 'admin') return 'Change how this server works'
  return scope.kind === 'named' ? (NAMED[scope.name] ?? text) : ofResources(scope)
}

function ofResources({ context, type, letters, query }: ResourceScope): string {
  const verbs = letters.map((letter) => VERBS[letter])
  const list = verbs.length === 1 ? verbs[0]! : `${verbs.slice(0, -1).join(', ')} and ${verbs.at(-1)}`
  const category = categoryOf({ type, query })
  const condition = query === '' ? '' : category === undefined ? `, where ${query}` : `: ${category}`
  return `${list[0]!.toUpperCase()}${list.slice(1)} ${DATA[type] ?? `data of the type ${type}`} ${WHOSE[context]}${condition}`
}
