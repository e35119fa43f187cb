/** Searches, each with what it means on plain JSON: which resources match, and which come along. */

import { BASE_URL } from '../site.ts'
import {
  type Caller,
  categoriesOf,
  currentVersionOf,
  isInScope,
  type Json,
  mayFind,
  maySee,
  type StoredResource,
  tagsOf,
} from './oracle.ts'
import { markOf, type Population } from './population.ts'

/** What of a tenant somebody may find. */
export class CallerView {
  readonly who: Caller
  readonly #population: Population
  readonly found: readonly StoredResource[]

  constructor(who: Caller, population: Population) {
    this.who = who
    this.#population = population
    this.found = population.all(who.tenant).filter((kept) => mayFind(who, kept, population.find))
  }

  of = (type: string): readonly Json[] => this.found.filter((kept) => kept.type === type).map((kept) => currentVersionOf(kept)!.json)

  /** What a reference leads to, where it may be seen. */
  at(reference: string): Json | undefined {
    const kept = this.#population.find(this.who.tenant, nameIn(reference))
    const head = currentVersionOf(kept)
    return kept !== undefined && head?.json !== undefined && maySee(this.who, 's', kept, head, this.#population.find)
      ? head.json
      : undefined
  }
}

const nameIn = (reference: string): string => reference.replace(`${BASE_URL}/`, '').replace(/\/_history\/.*$/, '')
export const nameOf = ({ resourceType, id }: Json): string => `${resourceType}/${id}`

/** The names its elements refer to; of some only. */
export function referencedNamesOf(json: Json, elements: readonly string[] = Object.keys(json)): readonly string[] {
  const found: string[] = []
  const visit = (tree: Json): void => {
    if (Array.isArray(tree)) for (const each of tree) visit(each)
    else if (typeof tree === 'object' && tree !== null) {
      if (typeof tree.reference === 'string') found.push(nameIn(tree.reference))
      for (const each of Object.values(tree)) visit(each)
    }
  }
  for (const element of elements) visit(json[element])
  return found
}

export type Search = {
  /** Path and query. */
  readonly target: string
  /** Of a POST: the form. */
  readonly form?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Types that must be in scope, all of them; `oneOf`: some of them. */
  readonly needs: readonly string[]
  readonly oneOf?: readonly string[]
  readonly forAdministrators?: true
  /** Types it looks through; absent: all. */
  readonly types?: readonly string[]
  readonly match: (json: Json, view: CallerView) => boolean
  /** The names of what comes along with these. */
  readonly along?: (matches: readonly Json[], view: CallerView) => readonly Json[]
  /** The key of groups a match belongs to. */
  readonly groups?: (json: Json) => readonly string[]
  /** Only the number. */
  readonly counts?: true
}

const all = () => true
const subjectIn = ({ subject, performer = [] }: Json, names: readonly string[]): boolean =>
  [subject, ...performer].some((each: Json) => each !== undefined && names.includes(nameIn(each.reference)))
const isAbout = (json: Json, name: string): boolean => json.subject !== undefined && nameIn(json.subject.reference) === name
const family = (view: CallerView, name: string): readonly string[] =>
  view
    .of('Patient')
    .filter((json) => json.name[0].family === name)
    .map(nameOf)
const isLab = (json: Json): boolean => categoriesOf(json).includes('laboratory')

const referred = (matches: readonly Json[], view: CallerView, elements?: readonly string[]): readonly Json[] =>
  matches.flatMap((match) => referencedNamesOf(match, elements).flatMap((name) => view.at(name) ?? []))
const referring = (matches: readonly Json[], view: CallerView, type?: string, elements?: readonly string[]): readonly Json[] => {
  const names = matches.map(nameOf)
  return view.found
    .filter((kept) => kept.type !== 'Binary' && (type === undefined || kept.type === type))
    .map((kept) => currentVersionOf(kept)!.json)
    .filter((json) => referencedNamesOf(json, elements).some((name) => names.includes(name)))
}

/** What comes along with what comes along, four times over. */
function iterated(matches: readonly Json[], first: (of: readonly Json[]) => readonly Json[], again = first): readonly Json[] {
  const known = new Map(matches.map((json) => [nameOf(json), json]))
  let round = matches
  for (let depth = 0; depth <= 4; depth++) {
    round = (depth === 0 ? first : again)(round).filter((json) => !known.has(nameOf(json)))
    for (const json of round) known.set(nameOf(json), json)
  }
  return [...known.values()]
}

const ofType = (type: string, query = '', match: Search['match'] = all, more: Partial<Search> = {}): Search => ({
  target: `/${type}${query}`,
  needs: [type],
  types: [type],
  match,
  ...more,
})
const observations = (query: string, match: Search['match'] = all, more: Partial<Search> = {}) => ofType('Observation', query, match, more)

/** Of the tenant of who asks. */
export function searchesOf(tenant: string): readonly Search[] {
  const hidden = markOf(tenant, 'Observation', 'other-lab.id', 1)
  const foreign = markOf(tenant === 'north' ? 'south' : 'north', 'Observation', 'own-lab.id', 1)
  return [
    ...['Patient', 'Group', 'Device', 'Organization', 'Practitioner', 'Medication', 'Binary', 'Questionnaire', 'RelatedPerson'].map(
      (type) => ofType(type),
    ),
    observations(''),
    observations('?category=laboratory', isLab),
    observations('?category:not=laboratory', (json) => !isLab(json)),
    observations('?patient=b.id', (json) => isAbout(json, 'Patient/b.id')),
    observations('?patient=Patient/a.id', (json) => isAbout(json, 'Patient/a.id')),
    observations('?subject=Patient/b.id&_summary=count', (json) => isAbout(json, 'Patient/b.id'), { counts: true }),
    observations('?performer=Patient/b.id', (json) => subjectIn({ performer: json.performer }, ['Patient/b.id'])),
    observations('?_count=0', all, { counts: true }),
    observations('?_total=accurate&_count=1'),
    observations('?_sort=-_lastUpdated&_count=2'),
    observations('?_sort=status,-_id&_count=3'),
    observations('?_count=2&_skip=0&_sort=_id'),
    observations(`?_tag=${hidden}`, (json) => tagsOf(json).includes(hidden)),
    observations(`?_tag=${hidden}&_summary=count`, (json) => tagsOf(json).includes(hidden), { counts: true }),
    observations(`?_tag=${foreign}`, () => false),
    observations('?_id=other-lab.id,own-lab.id', (json) => ['other-lab.id', 'own-lab.id'].includes(json.id)),
    observations('?patient:missing=true', (json) => json.subject === undefined || !nameIn(json.subject.reference).startsWith('Patient/')),
    observations('?subject:Patient.family=Baker', (json, view) => subjectIn({ subject: json.subject }, family(view, 'Baker')), {
      needs: ['Observation', 'Patient'],
    }),
    observations('?patient.name=Abel&_summary=count', (json, view) => subjectIn({ subject: json.subject }, family(view, 'Abel')), {
      needs: ['Observation', 'Patient'],
      counts: true,
    }),
    observations(
      '?encounter.patient.name=Baker',
      (json, view) => json.encounter !== undefined && isAbout(view.at(json.encounter.reference) ?? {}, family(view, 'Baker')[0] ?? ''),
      {
        needs: ['Observation', 'Encounter', 'Patient'],
      },
    ),
    observations(
      '?subject._tag=even',
      (json, view) =>
        subjectIn(
          { subject: json.subject },
          ['Patient', 'Group'].flatMap((type) =>
            view
              .of(type)
              .filter((each) => tagsOf(each).includes('even'))
              .map(nameOf),
          ),
        ),
      {
        oneOf: ['Patient', 'Group', 'Device', 'Location'],
      },
    ),
    observations('?_has:Observation:has-member:category=vital-signs', (json, view) =>
      view
        .of('Observation')
        .some((each) => categoriesOf(each).includes('vital-signs') && referencedNamesOf(each, ['hasMember']).includes(nameOf(json))),
    ),
    ofType(
      'Patient',
      '?_has:Observation:patient:category=laboratory',
      (json, view) => view.of('Observation').some((each) => isLab(each) && isAbout(each, nameOf(json))),
      { needs: ['Patient', 'Observation'] },
    ),
    ofType(
      'Patient',
      '?_has:Group:member:_tag=odd&_summary=count',
      (json, view) => view.of('Group').some((each) => referencedNamesOf(each).includes(nameOf(json))),
      { needs: ['Patient', 'Group'], counts: true },
    ),
    ofType('Patient', '?family:contains=a&_sort=family&_count=1', (json) => /a/i.test(json.name[0].family)),
    ofType('Patient', '?_id=a.id,b.id,linked.id&_elements=id', (json) => ['a.id', 'b.id', 'linked.id'].includes(json.id)),
    ofType('Group', '?member.name=Baker', (json, view) => referencedNamesOf(json).includes(family(view, 'Baker')[0] ?? ''), {
      // The other targets of `member` have no parameter `name`. https://hl7.org/fhir/R4/group.html#search
      oneOf: ['Patient', 'Practitioner'],
    }),
    ofType('Device', '?patient=Patient/b.id', (json) => json.patient !== undefined && nameIn(json.patient.reference) === 'Patient/b.id'),
    observations('?_include=Observation:subject', all, {
      along: (matches, view) =>
        iterated(
          matches,
          (of) => referred(of, view, ['subject']),
          () => [],
        ),
    }),
    observations('?_include=Observation:subject:Patient', all, {
      needs: ['Observation', 'Patient'],
      along: (matches, view) =>
        iterated(
          matches,
          (of) => referred(of, view, ['subject']).filter((json) => json.resourceType === 'Patient'),
          () => [],
        ),
    }),
    observations(
      '?_tag=even&_include=Observation:has-member&_include:iterate=Observation:encounter',
      (json) => tagsOf(json).includes('even'),
      {
        along: (matches, view) =>
          iterated(
            matches,
            (of) =>
              referred(
                of.filter(({ resourceType }) => resourceType === 'Observation'),
                view,
                ['hasMember', 'encounter'],
              ),
            (of) => referred(of, view, ['encounter']),
          ),
      },
    ),
    ofType('Patient', '?_revinclude=Observation:subject', all, {
      needs: ['Patient', 'Observation'],
      along: (matches, view) =>
        iterated(
          matches,
          (of) => referring(of, view, 'Observation', ['subject']),
          () => [],
        ),
    }),
    ofType('Patient', '?_include=Patient:organization&_include=Patient:general-practitioner', all, {
      along: (matches, view) =>
        iterated(
          matches,
          (of) => referred(of, view, ['managingOrganization', 'generalPractitioner']),
          () => [],
        ),
    }),
    ofType('Encounter', '?_revinclude=*', all, {
      along: (matches, view) =>
        iterated(
          matches,
          (of) => referring(of, view),
          () => [],
        ),
    }),
    observations('?_include:iterate=*&_revinclude:iterate=*', all, {
      along: (matches, view) => iterated(matches, (of) => [...referred(of, view), ...referring(of, view)]),
    }),
    observations('?_group=category:code&_groupCount=50', all, { groups: categoriesOf }),
    observations('?_group=subject&_groupSort=_id&_count=1&_groupCount=50', all, {
      groups: ({ subject }) => (subject === undefined ? [] : [nameIn(subject.reference)]),
    }),
    { target: '/Observation/_search', form: 'category=laboratory&_count=3', needs: ['Observation'], types: ['Observation'], match: isLab },
    observations('?_count=5', all, { headers: { prefer: 'explain=true' }, forAdministrators: true }),
    ...['a.id', 'b.id'].flatMap((id): readonly Search[] => [
      {
        target: `/Patient/${id}/Observation`,
        needs: ['Observation'],
        types: ['Observation'],
        match: (json) => subjectIn(json, [`Patient/${id}`]),
      },
      {
        target: `/Patient/${id}/*?_type=Condition,Encounter`,
        needs: ['Condition', 'Encounter'],
        types: ['Condition', 'Encounter'],
        match: (json) => isAbout(json, `Patient/${id}`),
      },
      {
        target: `/Patient/${id}/Observation/_search`,
        form: '_tag=odd',
        needs: ['Observation'],
        types: ['Observation'],
        match: (json) => tagsOf(json).includes('odd') && subjectIn(json, [`Patient/${id}`]),
      },
    ]),
    {
      target: '/Encounter/e-other.id/Observation',
      needs: ['Observation'],
      types: ['Observation'],
      match: (json) => referencedNamesOf(json, ['encounter']).includes('Encounter/e-other.id'),
    },
    { target: '/?_tag=even', needs: [], match: (json) => tagsOf(json).includes('even') },
    { target: '/?_lastUpdated=gt2000&_count=7&_sort=-_lastUpdated', needs: [], match: all },
    { target: '/?_type=Patient,Device', needs: ['Patient', 'Device'], types: ['Patient', 'Device'], match: all },
    {
      target: '/_search',
      form: '_type=Organization,Group&_summary=count',
      needs: ['Organization', 'Group'],
      types: ['Organization', 'Group'],
      match: all,
      counts: true,
    },
  ]
}

/** Whether it is in scope at all. */
export function isAllowed(who: Caller, { needs, oneOf = [], types, forAdministrators }: Search, isAdministrator: boolean): boolean {
  if (forAdministrators && !isAdministrator) return false
  if (
    types === undefined &&
    !who.scopes.split(' ').some((scope) => isInScope({ ...who, scopes: scope.replace(/\/\w+\./, '/*.') }, 'Patient', 's'))
  )
    return false
  return needs.every((type) => isInScope(who, type, 's')) && (oneOf.length === 0 || oneOf.some((type) => isInScope(who, type, 's')))
}
