/** Scopes of some categories: what the kit searches for with a token of all, it searches for again with one of these. */
import { expect } from '@jest/globals'
import { FLOWS, type Flow, STANDALONE_SCOPES } from './flows.ts'
import { type KitRow, runLaunch, SERVER_URL, type Site } from './kit.ts'
import { CATEGORIES, type Category, idsInCategories, RECORD } from './record.ts'

type Group = Readonly<Record<string, readonly Category[]>>

/** As US Core 6.1, 7 and 8 are tested, and the types of the kit's first sources. */
const GROUPS: Readonly<Record<string, Group>> = {
  'scopes 1': {
    Condition: ['encounterDiagnosis', 'concern'],
    Observation: ['laboratory', 'social'],
    DiagnosticReport: ['radiology'],
    DocumentReference: ['note'],
    ServiceRequest: ['sdoh'],
  },
  'scopes 2': {
    Condition: ['problem'],
    Observation: ['vital', 'survey', 'sdoh'],
    DiagnosticReport: ['pathology', 'lab'],
    ServiceRequest: ['surgery'],
  },
}

const categoryOf = (category: Category): readonly [both: string, code: string] => [
  CATEGORIES[category],
  CATEGORIES[category].split('|')[1]!,
]

/** The kit's searches of each type, of which the first is sent by POST too; of those by category, one for each, with its system and without. */
const SEARCHES: Readonly<Record<string, readonly string[]>> = {
  Condition: [
    ...byCategory(['encounterDiagnosis', 'problem', 'concern']),
    ...[
      'patient=1',
      'patient=1&code=1',
      'patient=1&clinical-status=active',
      'patient=1&onset-date=gt2020',
      'patient=1&recorded-date=gt2020',
    ],
    ...['patient=1&encounter=visit', 'patient=1&_lastUpdated=gt2020'],
    ...byCategory(['problem'], '&clinical-status=active'),
    ...byCategory(['encounterDiagnosis'], '&encounter=visit'),
  ],
  Observation: [
    ...byCategory(['laboratory', 'social', 'vital', 'survey', 'sdoh']),
    ...['patient=1&code=59408-5', 'patient=1&code=59408-5&date=gt2020'],
    ...byCategory(['laboratory', 'survey'], '&date=gt2020'),
    ...byCategory(['social', 'vital'], '&status=final'),
    ...byCategory(['sdoh'], '&_lastUpdated=gt2020'),
  ],
  DiagnosticReport: [
    ...byCategory(['lab', 'radiology', 'pathology']),
    ...['patient=1', 'patient=1&code=58410-2', 'patient=1&code=58410-2&date=gt2020', 'patient=1&status=final'],
    ...byCategory(['lab', 'radiology'], '&date=gt2020'),
  ],
  DocumentReference: [
    ...byCategory(['note']),
    ...[
      'patient=1',
      '_id=note',
      '_id=letter',
      'patient=1&type=34133-9',
      'patient=1&status=current',
      'patient=1&type=34133-9&period=gt2020',
    ],
    ...byCategory(['note'], '&date=gt2020'),
  ],
  ServiceRequest: [
    ...byCategory(['sdoh', 'surgery']),
    ...['patient=1', '_id=shelter', '_id=operation', 'patient=1&code=2', 'patient=1&status=active', 'patient=1&code=2&authored=gt2020'],
    ...byCategory(['sdoh'], '&authored=gt2020'),
  ],
}

function byCategory(categories: readonly Category[], more = ''): readonly string[] {
  return categories.flatMap((category) => categoryOf(category).map((token) => `patient=1&category=${token}${more}`))
}

const scopesOf = (group: Group): readonly string[] =>
  Object.entries(group).flatMap(([type, categories]) => categories.map((each) => `patient/${type}.rs?category=${CATEGORIES[each]}`))

const flowOf = (group: Group): Flow => ({
  ...FLOWS['standalone, a secret'],
  scope: [STANDALONE_SCOPES, 'patient/Patient.rs', ...scopesOf(group)].join(' '),
})

const launches = new WeakMap<Site, Map<string, ReturnType<typeof runLaunch>>>()

/** One launch for each group, by whichever row comes first. */
async function tokenOf(site: Site, name: string) {
  const made = launches.get(site) ?? new Map<string, ReturnType<typeof runLaunch>>()
  launches.set(site, made)
  const launched = made.get(name) ?? runLaunch(site, flowOf(GROUPS[name]!))
  made.set(name, launched)
  return (await launched).token.body
}

async function found(site: Site, token: string, method: 'GET' | 'POST', type: string, search: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${token}` }
  const answer =
    method === 'GET'
      ? await site.ask('GET', `${SERVER_URL}/${type}`, { headers, query: search })
      : await site.ask('POST', `${SERVER_URL}/${type}/_search`, { headers, form: search })
  expect(answer.status).toBe(200)
  return (answer.body.entry ?? []).map(({ resource }: { resource: { id: string } }) => resource.id).toSorted()
}

/** Nothing of another category, nothing that is missing, nothing that was not there before. */
const searched = (name: string, type: string, search: string, method: 'GET' | 'POST'): KitRow => [
  `us-core/us_core_${name.replace(' ', '_')} ${type} search`,
  `${method} ${type}?${search}: with ${name} what has the categories is found, all of it, and nothing else`,
  async (site) => {
    const all = await found(site, site.launched.get('standalone, a secret')!.token.body.access_token, method, type, search)
    const meant = idsInCategories(type, GROUPS[name]![type]!)
    expect(all.length).toBeGreaterThan(0)
    expect(await found(site, (await tokenOf(site, name)).access_token, method, type, search)).toEqual(
      all.filter((id) => meant.includes(id)),
    )
  },
]

const read = (name: string, type: string): readonly KitRow[] => {
  const meant = idsInCategories(type, GROUPS[name]![type]!)
  const ids = RECORD.filter(({ resourceType, id }) => resourceType === type && !id.startsWith('bobs')).map(({ id }) => id)
  return ids.map((id): KitRow => {
    const isMeant = meant.includes(id)
    const check = async (site: Site): Promise<void> => {
      const { status, body } = await site.get(`${type}/${id}`, (await tokenOf(site, name)).access_token)
      expect([status, body.resourceType]).toEqual(isMeant ? [200, type] : [404, 'OperationOutcome'])
    }
    return [`us-core/us_core_${name.replace(' ', '_')} ${type} read`, `${type}/${id} is ${isMeant ? '' : 'not '}read with ${name}`, check]
  })
}

const granted = (name: string, group: Group): readonly KitRow[] => {
  const by = 'us-core/us_core_granted_granular_scopes'
  const received = async (site: Site): Promise<readonly string[]> => (await tokenOf(site, name)).scope.split(' ')
  return [
    ...scopesOf(group).map(
      (scope): KitRow => [by, `of ${name}, ${scope} is granted`, async (site) => expect(await received(site)).toContain(scope)],
    ),
    [
      by,
      `beside ${name} no scope of the whole type is granted`,
      async (site) =>
        expect((await received(site)).filter((scope) => Object.keys(group).includes(/\/(\w+)\.[^?]+$/.exec(scope)?.[1] ?? ''))).toEqual([]),
    ],
    [
      by,
      `beside ${name} no scope of all types is granted`,
      async (site) => expect((await received(site)).filter((scope) => scope.includes('/*'))).toEqual([]),
    ],
  ]
}

export const GRANULAR: readonly KitRow[] = Object.entries(GROUPS).flatMap(([name, group]) => [
  ...granted(name, group),
  ...Object.keys(group).flatMap((type) => [
    ...SEARCHES[type]!.map((search) => searched(name, type, search, 'GET')),
    searched(name, type, SEARCHES[type]![0]!, 'POST'),
    ...read(name, type),
  ]),
])
