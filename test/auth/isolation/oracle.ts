/**
 * What somebody may see and change, found out from the texts of scopes and the plain JSON of resources. It imports nothing of the server: what it
 * says is what ../../lambdas/access must come to on its own. https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html
 */

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
export type Json = any

/** `isUser`: a user logged in; else it is the client's own token. Ids without their types. */
export type Caller = {
  readonly tenant: string
  /** Form of the tenant claim, if it is an array. With two tenants, X-Tenant-Id selects `tenant`. */
  readonly claim?: 'array of one' | 'array of two'
  readonly client: string
  readonly scopes: string
  readonly isUser?: boolean
  readonly patient?: string
  readonly fhirUser?: string
  readonly actsFor?: readonly string[]
}

/** No `json`: it is a deletion. `about`: the patients whose data it is, `Patient/1`; of a deletion those of the version before. */
export type OracleVersion = { readonly json?: Json; readonly about: readonly string[] }

export type StoredResource = { readonly tenant: string; readonly type: string; readonly id: string; readonly versions: OracleVersion[] }

export type ScopeLetter = 'c' | 'r' | 'u' | 'd' | 's'

type Clause = { readonly type: string; readonly letters: string; readonly query: string; readonly patients: readonly string[] | 'all' }

const ACCESS: Readonly<Record<string, string>> = { read: 'rs', write: 'cud', '*': 'cruds' }

export function clausesOf(who: Caller): readonly Clause[] {
  return who.scopes.split(' ').flatMap((scope): readonly Clause[] => {
    const [head = '', query = ''] = scope.split('?')
    const [context = '', rest = ''] = head.split('/')
    const [type = '', access = ''] = rest.split('.')
    const letters = ACCESS[access] ?? access
    if (letters === '' || !/^c?r?u?d?s?$/.test(letters)) return []
    if (context === 'system') return [{ type, letters, query, patients: 'all' }]
    if (context === 'user') return [{ type, letters, query, patients: ofUser(who) }]
    return context === 'patient' ? [{ type, letters, query, patients: inContext(who) }] : []
  })
}

function ofUser({ isUser = false, fhirUser, actsFor = [] }: Caller): readonly string[] | 'all' {
  if (fhirUser === undefined) return isUser ? [] : 'all'
  const [type, id] = fhirUser.split('/').slice(-2)
  if (type === 'Practitioner' || type === 'PractitionerRole') return 'all'
  if (type === 'Patient') return [`Patient/${id}`]
  return type === 'RelatedPerson' ? actsFor.map((patient) => `Patient/${patient}`) : []
}

function inContext(who: Caller): readonly string[] | 'all' {
  if (who.patient === undefined) return who.isUser ? [] : 'all'
  const mine = who.fhirUser === undefined ? 'all' : ofUser(who)
  const patient = `Patient/${who.patient}`
  return mine === 'all' || mine.includes(patient) ? [patient] : []
}

export const isInScope = (who: Caller, type: string, letter: ScopeLetter): boolean => clausesAbout(who, type, letter).length > 0

/** Whether it is the resource of the user, which `openid fhirUser` opens to a plain read. */
export const isOwnResource = ({ scopes, fhirUser }: Caller, type: string, id: string): boolean =>
  fhirUser === `${type}/${id}` && ['openid', 'fhirUser'].every((scope) => scopes.split(' ').includes(scope))

export const isAdministrator = ({ scopes }: Caller): boolean => scopes.split(' ').includes('system/admin')

const clausesAbout = (who: Caller, type: string, letter: ScopeLetter): readonly Clause[] =>
  clausesOf(who).filter((clause) => (clause.type === '*' || clause.type === type) && clause.letters.includes(letter))

/** Everything of the tenant. */
export const maySeeAll = (who: Caller, letter: ScopeLetter): boolean =>
  clausesOf(who).some(
    ({ type, letters, query, patients }) => type === '*' && letters.includes(letter) && query === '' && patients === 'all',
  )

/** Every resource of the type there is, and will be. */
export const maySeeType = (who: Caller, type: string, letter: ScopeLetter): boolean =>
  maySeeAll(who, letter) ||
  (type !== 'Binary' &&
    clausesAbout(who, type, letter).some(({ query, patients }) => query === '' && (patients === 'all' || NOBODYS.includes(type))))

const NOBODYS = [
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Location',
  'Medication',
  'HealthcareService',
  'Endpoint',
  'ValueSet',
  'CodeSystem',
]
const PATIENTS = ['Patient', 'Observation', 'Condition', 'Encounter', 'RelatedPerson', 'DocumentReference']

/** `of`: what is kept. */
export function maySee(
  who: Caller,
  letter: ScopeLetter,
  kept: Omit<StoredResource, 'versions'>,
  version: OracleVersion,
  of: FindResource,
): boolean {
  if (kept.tenant !== who.tenant) return false
  if (maySeeAll(who, letter)) return true
  const context = version.json?.securityContext?.reference
  const clauses = clausesAbout(who, kept.type, letter)
  if (context === undefined) return clauses.some((clause) => isWithin(clause, kept, version) && meets(clause.query, version))
  const head = of(who.tenant, context)
  return clauses.some(({ query }) => meets(query, version)) && isLive(head) && maySee(who, letter, head, currentVersionOf(head)!, of)
}

/** As it is, or as it would be. */
export function mayWrite(
  who: Caller,
  letter: ScopeLetter,
  kept: Omit<StoredResource, 'versions'>,
  version: OracleVersion,
  of: FindResource,
): boolean {
  if (maySeeAll(who, letter)) return true
  const context = version.json?.securityContext?.reference
  const clauses = clausesAbout(who, kept.type, letter)
  if (context === undefined)
    return clauses.some((clause) => isWithin(clause, kept, version) && isOnlyWithin(clause, kept, version) && meets(clause.query, version))
  const head = of(who.tenant, context)
  return clauses.some(({ query }) => meets(query, version)) && isLive(head) && mayWrite(who, letter, head, currentVersionOf(head)!, of)
}

/** By `Type/id`. */
export type FindResource = (tenant: string, name: string) => StoredResource | undefined

export const currentVersionOf = (kept: StoredResource | undefined): OracleVersion | undefined => kept?.versions.at(-1)
export const isLive = (kept: StoredResource | undefined): kept is StoredResource => currentVersionOf(kept)?.json !== undefined

/** What a search may find. */
export const mayFind = (who: Caller, kept: StoredResource, of: FindResource): boolean =>
  isLive(kept) && (maySeeAll(who, 's') || (kept.type !== 'Binary' && maySee(who, 's', kept, currentVersionOf(kept)!, of)))

function isWithin({ patients }: Clause, { type, id }: Omit<StoredResource, 'versions'>, { json, about }: OracleVersion): boolean {
  if (patients === 'all' || NOBODYS.includes(type)) return true
  if (type === 'Patient') return patients.includes(`Patient/${id}`)
  if (type === 'Device') return patients.includes(json?.patient?.reference)
  return PATIENTS.includes(type) && about.some((patient) => patients.includes(patient))
}

const isOnlyWithin = ({ patients }: Clause, { type }: Omit<StoredResource, 'versions'>, { about }: OracleVersion): boolean =>
  patients === 'all' || (!NOBODYS.includes(type) && about.every((patient) => patients.includes(patient)))

/** Of conditions: `category=code` and `_tag=code`. */
const meets = (query: string, { json }: OracleVersion): boolean =>
  query === '' ||
  (json !== undefined &&
    query.split('&').every((condition) => {
      const [name, value] = condition.split('=')
      if (name === '_tag') return tagsOf(json).includes(value!)
      return name === 'category' && categoriesOf(json).includes(value!)
    }))

export const tagsOf = ({ meta }: Json): readonly string[] => (meta?.tag ?? []).map(({ code }: Json) => code)

export const categoriesOf = ({ category = [] }: Json): readonly string[] =>
  (Array.isArray(category) ? category : [category]).flatMap(({ coding = [] }: Json) => coding.map(({ code }: Json) => code))

/** The patients whose data it is. `base`: of the server. */
export function patientsOf(json: Json, base: string): readonly string[] {
  const { resourceType, id, subject, patient, performer = [], asserter, author = [], link = [] } = json
  const references =
    resourceType === 'Patient'
      ? [{ reference: `Patient/${id}` }, ...link.map(({ other }: Json) => other)]
      : resourceType === 'RelatedPerson'
        ? [patient]
        : PATIENTS.includes(resourceType)
          ? [subject, asserter, ...performer, ...author]
          : []
  const names = references.map((each: Json) =>
    String(each?.reference ?? '')
      .replace(`${base}/`, '')
      .replace(/\/_history\/.*$/, ''),
  )
  return [...new Set<string>(names.filter((name: string) => name.startsWith('Patient/')))]
}
