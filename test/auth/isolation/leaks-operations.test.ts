/** Operations that look things up, asked by everybody: what they tell is what the oracle finds on plain JSON, and nothing of what is hidden. */
import { expect, it } from '@jest/globals'
import { caseStepOf, firstSeed } from '../../fixtures/long-runs.ts'
import { BASE_URL } from '../site.ts'
import { type Caller, currentVersionOf, isInScope, isLive, type Json, maySee, type StoredResource, tagsOf } from './oracle.ts'
import { withPopulatedSite } from './populated.ts'
import type { Population } from './population.ts'
import { CallerView, nameOf, referencedNamesOf } from './searches.ts'
import { CALLERS, nameOfCaller, sampleCells } from './whos.ts'

const world = withPopulatedSite()

const LEVELS = ['', '/Patient', '/Observation', '/Device', '/Organization', '/Binary'] as const

it('$meta returns the tags of all resources that the client may find, each once', async () => {
  const { population, ask, check } = world()
  const wrong: string[] = []
  let told = 0
  for (const who of sampleCells(CALLERS, caseStepOf(8, 1), firstSeed())) {
    const view = new CallerView(who, population)
    for (const level of LEVELS) {
      const target = `${level}/$meta`
      const answer = await ask(who, 'GET', target)
      const type = level.slice(1)
      const found = view.found.filter((kept) => type === '' || kept.type === type).map((kept) => currentVersionOf(kept)!.json)
      const isAllowed = type === '' ? ['Patient', ...TYPES].some((each) => isInScope(who, each, 's')) : isInScope(who, type, 's')
      const tags = [...new Set(found.flatMap(tagsOf))].sort()
      const seen = answer.status === 200 ? (answer.body.parameter[0].valueMeta.tag ?? []).map(({ code }: Json) => code).sort() : []
      const leaks = check.leaksIn(answer, who, target)
      told += seen.length
      if (answer.status !== (isAllowed ? 200 : 403) || (isAllowed && seen.join() !== tags.join()) || leaks.length > 0)
        wrong.push(`${nameOfCaller(who)} ${target}: ${answer.status} ${seen} is not ${tags}; ${leaks}`)
    }
  }
  expect(wrong.slice(0, 10)).toEqual([])
  expect(told).toBeGreaterThan(500)
})

/** Of the scopes that are asked with, where they name a type. */
const TYPES = ['Observation', 'Encounter', 'Condition', 'Group', 'Device', 'Binary', 'Medication']

const PATIENTS = ['a.id', 'b.id', 'linked.id', 'gone.id', 'never.id'] as const
const REFERRED = ['Practitioner', 'PractitionerRole', 'Organization', 'Location', 'Medication', 'Provenance']
const QUERIES = ['', '?_count=1', '?_count=3&start=2020', '?_type=Observation,Practitioner', '?_type=Organization'] as const

/** Who may find more than they may read, or read more than they may find. */
const LOPSIDED: readonly Caller[] = [
  'system/Patient.rs system/Observation.s system/Observation.r?_tag=even system/Condition.r system/Encounter.s',
  'system/Patient.r system/Patient.s?_tag=even system/Observation.rs system/Organization.rs',
  'system/Patient.rs system/Practitioner.s system/Practitioner.r?_tag=even system/Organization.r system/Organization.s?_tag=odd',
  'patient/*.r patient/Patient.rs patient/Observation.s?category=laboratory patient/Device.s',
].map((scopes, i) => ({ tenant: 'north', client: `lopsided-${i}`, scopes, ...(scopes.startsWith('patient') ? { patient: 'a.id' } : {}) }))

/** What may be read and found of what belongs to the patient, and of what that refers to, in turn. */
function everythingOf(who: Caller, { find, all }: Population, id: string, query: string): readonly string[] {
  const isSeen = (kept: StoredResource | undefined): kept is StoredResource =>
    isLive(kept) && maySee(who, 'r', kept, currentVersionOf(kept)!, find) && maySee(who, 's', kept, currentVersionOf(kept)!, find)
  const patient = `Patient/${id}`
  const isOwn = (kept: StoredResource): boolean => {
    const { json, about } = currentVersionOf(kept)!
    if (kept.type === 'Device') return json?.patient?.reference === patient
    if (kept.type === 'Group') return json?.member?.some(({ entity }: Json) => entity.reference === patient)
    return kept.type !== 'Binary' && about.includes(patient)
  }
  const found = all(who.tenant).filter((kept) => isSeen(kept) && isOwn(kept))
  const names = new Set(found.map(({ type, id }) => `${type}/${id}`))
  for (const name of names)
    for (const other of referencedNamesOf(currentVersionOf(find(who.tenant, name))!.json))
      if (REFERRED.includes(other.split('/')[0]!) && isSeen(find(who.tenant, other))) names.add(other)
  const types = /_type=([\w,]+)/.exec(query)?.[1]?.split(',')
  return [...names].filter((name) => types?.includes(name.split('/')[0]!) ?? true).sort()
}

it('$everything returns each visible resource once; a hidden patient looks like an unknown one', async () => {
  const { population, ask, check } = world()
  const { find } = population
  const wrong: string[] = []
  let told = 0
  for (const [i, who] of [...sampleCells(CALLERS, caseStepOf(6, 1), 1 + firstSeed()), ...LOPSIDED, ...LOPSIDED].entries())
    for (const [j, id] of PATIENTS.entries()) {
      const query = QUERIES[(i + j) % QUERIES.length]!
      const target = `/Patient/${id}/$everything${query}`
      const kept = find(who.tenant, `Patient/${id}`)
      const head = currentVersionOf(kept)
      const isSeen = kept !== undefined && (['r', 's'] as const).every((letter) => maySee(who, letter, kept, head!, find))
      const isAllowed = isInScope(who, 'Patient', 'r') && isInScope(who, 'Patient', 's')
      const expected = !isAllowed ? 403 : isSeen && head?.json !== undefined ? 200 : 404
      const found: string[] = []
      let status = 0
      for (let next: string | undefined = target; next !== undefined; ) {
        const answer: Json = await ask(who, 'GET', next)
        status = answer.status
        const leaks = check.leaksIn(answer, who, next)
        if (leaks.length > 0) wrong.push(`${nameOfCaller(who)} ${next}: ${leaks}`)
        found.push(...(answer.body?.entry ?? []).map(({ resource }: Json) => nameOf(resource)))
        next = answer.body?.link?.find(({ relation }: Json) => relation === 'next')?.url.slice(BASE_URL.length)
        if (status === 404 && !isSeen) {
          const never = await ask(who, 'GET', target.replace(id, 'other-never.id'))
          if (never.text.replaceAll('other-never.id', id) !== answer.text)
            wrong.push(`${nameOfCaller(who)} ${target} is not as what never was`)
        }
      }
      told += found.length
      const shown = status === 200 ? everythingOf(who, population, id, query) : []
      if (status !== expected || found.sort().join() !== shown.join())
        wrong.push(`${nameOfCaller(who)} ${target}: ${status}, not ${expected}: ${found} is not ${shown}`)
    }
  expect(wrong.slice(0, 10)).toEqual([])
  expect(told).toBeGreaterThan(200)
})

/** Who may find more documents than they may read, or read more than they may find; and who may do both with some. */
const OF_DOCUMENTS: readonly Caller[] = [
  'system/DocumentReference.rs',
  'system/DocumentReference.s system/DocumentReference.r?_tag=even',
  'system/DocumentReference.r system/DocumentReference.s?_tag=odd',
  'patient/DocumentReference.rs',
  'patient/DocumentReference.r system/DocumentReference.s',
  'system/DocumentReference.s',
].flatMap((scopes, i) =>
  (['north', 'south'] as const).map((tenant) => ({
    tenant,
    client: `documents-${i}`,
    scopes,
    ...(/patient/.test(scopes) ? { patient: 'a.id' } : {}),
  })),
)

it('$docref returns the documents that the client may read and find, and no hidden ones', async () => {
  const { population, ask, check } = world()
  const { find, all } = population
  const wrong: string[] = []
  let told = 0
  for (const who of [...sampleCells(CALLERS, caseStepOf(6, 1), 2 + firstSeed()), ...OF_DOCUMENTS])
    for (const id of ['a.id', 'b.id', 'never.id']) {
      const target = `/DocumentReference/$docref?patient=${id}`
      const isSeen = (kept: StoredResource): boolean =>
        (['r', 's'] as const).every((letter) => maySee(who, letter, kept, currentVersionOf(kept)!, find))
      const isAllowed = (['r', 's'] as const).every((letter) => isInScope(who, 'DocumentReference', letter))
      const shown = all(who.tenant)
        .filter((kept) => kept.type === 'DocumentReference' && isLive(kept) && isSeen(kept))
        .filter((kept) => currentVersionOf(kept)!.json.subject.reference === `Patient/${id}`)
        .map((kept) => `${kept.type}/${kept.id}`)
      const answer = await ask(who, 'GET', target)
      const found: readonly string[] = (answer.body?.entry ?? []).map(({ resource }: Json) => nameOf(resource))
      const leaks = check.leaksIn(answer, who, target)
      told += found.length
      const nothing = await ask(who, 'GET', `${target}&on-demand=true`)
      if (nothing.status !== (isAllowed ? 200 : 403)) wrong.push(`${nameOfCaller(who)} ${target}, on demand: ${nothing.status}`)
      if (answer.status !== (isAllowed ? 200 : 403) || (isAllowed && found.toSorted().join() !== shown.sort().join()) || leaks.length > 0)
        wrong.push(`${nameOfCaller(who)} ${target}: ${answer.status} ${found} is not ${shown}; ${leaks}`)
    }
  expect(wrong.slice(0, 10)).toEqual([])
  expect(told).toBeGreaterThan(50)
})

it('$everything and $meta are audited with client, patient and scopes', async () => {
  const who: Caller = { tenant: 'north', client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
  const { ask, site } = world()
  site.audited.length = 0
  for (const target of ['/Patient/a.id/$everything', '/Patient/b.id/$everything', '/Observation/own-lab.id/$meta', '/Observation/$meta'])
    await ask(who, 'GET', target)
  const by = { tenant: 'north', client: 'app', patient: 'a.id', scopes: 'patient/*.rs' }
  expect(site.audited).toMatchObject([
    { ...by, interaction: 'everything', key: 'Patient/a.id', status: 200 },
    { ...by, interaction: 'everything', key: 'Patient/b.id', status: 404 },
    { ...by, interaction: 'meta', key: 'Observation/own-lab.id', status: 200 },
    { ...by, interaction: 'meta', status: 200 },
  ])
})
