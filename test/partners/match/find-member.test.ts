/** Finds the one Patient that a person and a card name. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { findMember } from '../../../lambdas/partners/match/find-member.ts'
import { memberInputOf } from '../../../lambdas/partners/match/member-input.ts'
import type { MemberData } from '../../../lambdas/partners/member-data.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { matchExample } from '../../fixtures/payer/match-examples.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { BASE_URL, coverageOf, matchRequestOf, memberNumber, memberStoreOf } from '../member-store.ts'

/** Returns what was found: an id, `none`, or all ids of several. */
async function find(data: MemberData, body: Tree): Promise<string> {
  const { person } = await memberInputOf(JSON.parse(JSON.stringify(body)), {
    needsConsent: false,
    structureIssuesOf: (resource) => validate(resource),
  })
  const found = await findMember(data, person)
  return found.kind === 'match' ? found.patient.id! : found.kind === 'none' ? 'none' : found.ids.join(' ')
}

const person = (given: string, fields: Tree = {}): Tree => ({
  name: [{ family: 'Person', given: [given] }],
  birthDate: '1974-12-25',
  gender: 'female',
  ...fields,
})
const stored = (id: string, given = 'Ann', fields: Tree = {}): Tree => patient(id, person(given, fields))
const SUBSCRIBER = { subscriberId: 'S1' }
const requestFor = (coverage: Tree, given = 'Ann', fields: Tree = {}): Tree =>
  matchRequestOf({
    MemberPatient: { resourceType: 'Patient', ...person(given, fields) },
    CoverageToMatch: coverageOf('sent', 'sent', coverage),
  })
const numberOf = (value: string, system?: string): Tree => ({ identifier: [memberNumber(value, system)] })
const replacedBy = (id: string): Tree => ({ link: [{ type: 'replaced-by', other: { reference: `Patient/${id}` } }] })

describe('a member', () => {
  it('is found by the number of the card, as in the example of HRex', async () => {
    const { resource: sent } = matchExample('member-match-in').parameter[0]
    const data = await memberStoreOf([{ ...sent, id: 'p' }, coverageOf('c', 'p', numberOf('DH10001235'))])
    expect(await find(data, matchExample('member-match-in'))).toBe('p')
    expect(await find(data, matchExample('member-match-in-provider'))).toBe('p')
  })

  it('is found by the subscriberId, as in the examples of PDex', async () => {
    for (const id of ['payer-multi-member-match-in', 'provider-member-match-request-001'])
      for (const { part } of matchExample(id).parameter) {
        const [{ resource: sent }, { resource: coverage }] = part
        const data = await memberStoreOf([
          { ...sent, id: 'p', identifier: undefined },
          coverageOf('c', 'p', { subscriberId: coverage.subscriberId }),
        ])
        expect(await find(data, { resourceType: 'Parameters', parameter: part })).toBe('p')
      }
  })

  it('is found by a Patient identifier of type MB with a system', async () => {
    const data = await memberStoreOf([stored('p', 'Ann', numberOf('M1', 'http://payer'))])
    expect(await find(data, requestFor(SUBSCRIBER, 'Ann', numberOf('M1', 'http://payer')))).toBe('p')
    expect(await find(data, requestFor(numberOf('M1', 'http://payer')))).toBe('p')
    expect(await find(data, requestFor(numberOf('M1', 'http://other')))).toBe('none')
    expect(await find(data, requestFor({ identifier: [{ system: 'http://payer', value: 'M1' }] }))).toBe('none')
    expect(await find(data, requestFor({ identifier: [{ ...memberNumber('M1'), system: undefined }] }))).toBe('none')
  })

  it('is found by a number with characters that searches reserve', async () => {
    for (const value of ['a,b', 'a|b', 'a$b', 'a\\b', 'a b', '00.1', '$'.repeat(1_000)]) {
      const data = await memberStoreOf([stored('p'), coverageOf('c', 'p', { ...numberOf(value), subscriberId: value })])
      expect([value, await find(data, requestFor(numberOf(value)))]).toEqual([value, 'p'])
      expect([value, await find(data, requestFor({ identifier: [{ value }] }))]).toEqual([value, 'p'])
      expect([value, await find(data, requestFor({ subscriberId: value }))]).toEqual([value, 'p'])
    }
  })

  it('is not found by a number that is too long for searches', async () => {
    const value = 'x'.repeat(100_000)
    const data = await memberStoreOf([stored('p'), coverageOf('c', 'p', { ...numberOf(value), subscriberId: value })])
    for (const sent of [numberOf(value), { subscriberId: value }]) expect(await find(data, requestFor(sent))).toBe('none')
  })

  it('is found by one of 50 numbers', async () => {
    const data = await memberStoreOf([stored('p'), coverageOf('c', 'p', numberOf('N49'))])
    const identifier = Array.from({ length: 50 }, (_, i) => memberNumber(`N${i}`))
    expect(await find(data, requestFor({ identifier }))).toBe('p')
  })

  it('is found by a Coverage with an absolute reference to this server, and not by one of another server', async () => {
    for (const [base, expected] of [
      [BASE_URL, 'p'],
      ['https://other.example/fhir', 'none'],
    ]) {
      const coverage = { ...coverageOf('c', 'p', SUBSCRIBER), beneficiary: { reference: `${base}/Patient/p` } }
      expect(await find(await memberStoreOf([stored('p'), coverage]), requestFor(SUBSCRIBER))).toBe(expected)
    }
  })

  it('is found once by several Coverages', async () => {
    const coverages = ['2023', '2024', '2025'].map((year) =>
      coverageOf(year, 'p', { ...SUBSCRIBER, ...numberOf('N'), period: { end: year } }),
    )
    expect(await find(await memberStoreOf([stored('p'), ...coverages]), requestFor({ ...SUBSCRIBER, ...numberOf('N') }))).toBe('p')
  })

  it('differs from a twin with the same card by the given name', async () => {
    const data = await memberStoreOf([
      stored('a', 'Ann'),
      stored('b', 'Beth'),
      coverageOf('1', 'a', SUBSCRIBER),
      coverageOf('2', 'b', SUBSCRIBER),
    ])
    expect([await find(data, requestFor(SUBSCRIBER, 'Ann')), await find(data, requestFor(SUBSCRIBER, 'Beth'))]).toEqual(['a', 'b'])
    expect(await find(data, requestFor(SUBSCRIBER, 'Carol'))).toBe('none')
  })

  it('is not found if two Patients meet all rules', async () => {
    const data = await memberStoreOf([stored('b'), stored('a'), coverageOf('1', 'a', SUBSCRIBER), coverageOf('2', 'b', SUBSCRIBER)])
    expect(await find(data, requestFor(SUBSCRIBER))).toBe('a b')
    expect(await find(data, requestFor({ ...SUBSCRIBER, dependent: '1' }))).toBe('a b')
  })

  it('is found by the dependent number if it decides', async () => {
    const data = await memberStoreOf([
      stored('a'),
      stored('b'),
      coverageOf('1', 'a', { ...SUBSCRIBER, dependent: '1' }),
      coverageOf('2', 'b', { ...SUBSCRIBER, dependent: '2' }),
    ])
    expect(await find(data, requestFor({ ...SUBSCRIBER, dependent: '2' }))).toBe('b')
  })

  it('is not found if the card names more than 50 Patients', async () => {
    const others = (count: number): readonly Tree[] =>
      Array.from({ length: count }, (_, i) => [stored(`p${i}`, `Given${i}`), coverageOf(`c${i}`, `p${i}`, SUBSCRIBER)]).flat()
    expect(await find(await memberStoreOf(others(50)), requestFor(SUBSCRIBER, 'Given7'))).toBe('p7')
    expect(await find(await memberStoreOf(others(51)), requestFor(SUBSCRIBER, 'Given7'))).toBe('none')
    expect(await find(await memberStoreOf(others(501)), requestFor(SUBSCRIBER, 'Given7'))).toBe('none')
  })

  it('is not found if more than 500 Coverages have the card', async () => {
    const coverages = (count: number): readonly Tree[] => Array.from({ length: count }, (_, i) => coverageOf(`c${i}`, 'p', SUBSCRIBER))
    expect(await find(await memberStoreOf([stored('p'), ...coverages(500)]), requestFor(SUBSCRIBER))).toBe('p')
    expect(await find(await memberStoreOf([stored('p'), ...coverages(501)]), requestFor(SUBSCRIBER))).toBe('none')
  })

  it.each<[what: string, stored: readonly Tree[], deleted: readonly string[]]>([
    ['no Coverage', [stored('p')], []],
    ['a Coverage that is entered in error', [stored('p'), coverageOf('c', 'p', { ...SUBSCRIBER, status: 'entered-in-error' })], []],
    ['a deleted Coverage', [stored('p'), coverageOf('c', 'p', SUBSCRIBER)], ['Coverage/c']],
    ['a deleted Patient', [stored('p'), coverageOf('c', 'p', SUBSCRIBER)], ['Patient/p']],
    ['a missing Patient', [coverageOf('c', 'p', SUBSCRIBER)], []],
    ['an inactive Patient', [stored('p', 'Ann', { active: false }), coverageOf('c', 'p', SUBSCRIBER)], []],
  ])('is not found with %s', async (_, resources, deleted) => {
    expect(await find(await memberStoreOf(resources, deleted), requestFor(SUBSCRIBER))).toBe('none')
  })

  it('is not decided by a damaged Patient', async () => {
    const data = await memberStoreOf([stored('p'), coverageOf('c', 'p', SUBSCRIBER)])
    const damage = new MachineFault('store-damaged', 'damaged')
    const heads: MemberData['heads'] = async (keys) =>
      keys[0]?.type === 'Patient' ? keys.map((key) => ({ ...key, versionId: 1, deleted: false, damage })) : data.heads(keys)
    await expect(find({ ...data, heads }, requestFor(SUBSCRIBER))).rejects.toBe(damage)
  })
})

describe('a replaced Patient', () => {
  const card = (id: string): Tree => coverageOf(`c-${id}`, id, SUBSCRIBER)

  it('stands for its successor, and the name of the successor counts', async () => {
    const data = await memberStoreOf([stored('old', 'Anne', { active: false, ...replacedBy('new') }), stored('new', 'Ann'), card('old')])
    expect([await find(data, requestFor(SUBSCRIBER, 'Ann')), await find(data, requestFor(SUBSCRIBER, 'Anne'))]).toEqual(['new', 'none'])
  })

  it('is one with its successor', async () => {
    expect(
      await find(
        await memberStoreOf([stored('old', 'Ann', replacedBy('new')), stored('new'), card('old'), card('new')]),
        requestFor(SUBSCRIBER),
      ),
    ).toBe('new')
  })

  it.each([3, 4])('is followed three times: %s links', async (links) => {
    const chain = Array.from({ length: links }, (_, i) => stored(`p${i}`, 'Ann', replacedBy(`p${i + 1}`)))
    const data = await memberStoreOf([...chain, stored(`p${links}`), card('p0')])
    expect(await find(data, requestFor(SUBSCRIBER))).toBe(links === 3 ? 'p3' : 'none')
  })

  it('is no member if the replacements form a circle', async () => {
    const data = await memberStoreOf([stored('a', 'Ann', replacedBy('b')), stored('b', 'Ann', replacedBy('a')), card('a')])
    expect(await find(data, requestFor(SUBSCRIBER))).toBe('none')
  })

  it('is no member if its successor is missing', async () => {
    expect(await find(await memberStoreOf([stored('a', 'Ann', replacedBy('b')), card('a')]), requestFor(SUBSCRIBER))).toBe('none')
  })
})
