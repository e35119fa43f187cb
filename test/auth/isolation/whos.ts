/** Who asks: forms of scopes × what a token says besides × tenants. */
import type { Caller } from './oracle.ts'
import { TENANTS } from './population.ts'

const SCOPES = [
  '',
  'openid launch fhirUser',
  'patient/*.read',
  'patient/*.write',
  'patient/*.*',
  'patient/*.cruds',
  'patient/Observation.read',
  'patient/Observation.c patient/Observation.r',
  'patient/Observation.u',
  'patient/Observation.us',
  'patient/Observation.ds patient/Patient.s',
  'patient/Observation.s patient/Encounter.s',
  'patient/Patient.read',
  'patient/Condition.cruds',
  'patient/Observation.rs?category=laboratory patient/Patient.rs',
  'patient/Observation.cruds?category=laboratory',
  'patient/Observation.rs?category=laboratory patient/Observation.rs?category=vital-signs&_tag=even',
  'patient/*.cruds?_tag=odd',
  'patient/Observation.rs?nonsense=1 patient/Observation.rs?subject.name=Abel',
  'patient/Binary.cruds patient/Patient.cruds',
  'user/*.read',
  'user/*.cruds',
  'user/Observation.rs user/Patient.r',
  'user/Binary.rs user/Observation.rs',
  'user/*.rs?_tag=even',
  'system/*.read',
  'system/*.cruds',
  'system/Observation.cruds system/Patient.rs',
  'system/Observation.rs?category=vital-signs system/Group.rs system/Device.rs',
  'system/Binary.cruds',
  'system/Medication.read',
  'patient/*.rs system/Observation.u',
  'patient/Observation.cruds user/Patient.rs system/Device.r',
  'system/*.r system/Observation.s system/admin',
]

const STANDINGS: readonly Omit<Caller, 'tenant' | 'client' | 'scopes'>[] = [
  {},
  { patient: 'a.id' },
  { isUser: true },
  { isUser: true, patient: 'a.id' },
  { isUser: true, patient: 'b.id', fhirUser: 'Practitioner/p.id' },
  { isUser: true, patient: 'a.id', fhirUser: 'Patient/a.id' },
  { isUser: true, patient: 'b.id', fhirUser: 'Patient/a.id' },
  { isUser: true, fhirUser: 'Patient/never.id' },
  { isUser: true, patient: 'a.id', fhirUser: 'RelatedPerson/r-own.id', actsFor: ['a.id'] },
  { isUser: true, patient: 'a.id', fhirUser: 'RelatedPerson/r-own.id' },
  { isUser: true, patient: 'a.id', fhirUser: 'Person/a.id' },
  { isUser: true, patient: 'nowhere.id', fhirUser: 'PractitionerRole/p.id' },
  { claim: 'array of one', patient: 'a.id' },
  { claim: 'array of two', isUser: true },
]

export const CALLERS: readonly Caller[] = TENANTS.flatMap((tenant) =>
  STANDINGS.flatMap((standing, i) => SCOPES.map((scopes, j): Caller => ({ tenant, client: `app-${i}-${j}`, scopes, ...standing }))),
)

export const nameOfCaller = ({ tenant, client: _, ...rest }: Caller): string => `${tenant} ${JSON.stringify(rest)}`

/** A part of the cells: another one for each who. */
export function sampleCells<Cell>(cells: readonly Cell[], of: number, at: number): readonly Cell[] {
  return cells.filter((_, i) => (i + at) % of === 0)
}
