/** The time budget of a search, with a client and a clock that the test controls. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Client, errors } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import { fault } from '../../fixtures/machine-fault.ts'

const BUDGET = 10_000
const PLAN: Plan = { tenant: 'one', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 10, total: 'none' }
const MANY = Array.from({ length: 31 }, (_, i) => `Type${i}`)

/** `patience`: milliseconds that the client waits. `left`: milliseconds after which the engine cancels the search. */
type Attempt = { readonly patience: number; readonly left: number }
/** Returns the answer after `takes` ms, or throws the error then. */
type Answering = {
  readonly takes: number
  readonly status?: number
  readonly error?: Error
  readonly type?: string
  readonly hits?: number
}
type Parameters = { readonly path: string; readonly querystring: { readonly cancel_after_time_interval?: string } }

let now: number
let attempts: Attempt[]
/** Answer to each attempt, numbered from 0. */
let answers: (attempt: number) => Answering
let index: OpenSearchIndex

beforeEach(() => {
  now = 1_000
  attempts = []
  const request = async ({ path, querystring }: Parameters, { requestTimeout: patience }: { readonly requestTimeout: number }) => {
    const { takes, status, error, type = 'x', hits = 0 } = answers(attempts.length)
    attempts.push({ patience, left: Number.parseInt(querystring.cancel_after_time_interval ?? '', 10) })
    now += Math.min(takes, patience)
    if (takes > patience) throw new errors.TimeoutError('silent', undefined as never)
    if (error !== undefined) throw error
    if (status !== undefined) throw responseError(status, type)
    const found = answerOf(hits)
    return { body: path === '/_msearch' ? { responses: [found] } : found }
  }
  const client = { transport: { request } } as unknown as Client
  const timer = {
    now: () => now,
    wait: async (time: number) => {
      now += time
    },
  }
  const live = { identity: 'id', types: { Patient: { identity: 'id' } }, former: [] }
  index = new OpenSearchIndex(client, { prefix: 'fhir', live: async () => live, attempts: 1_000, budget: BUDGET, timer })
})

const answerOf = (hits: number) => ({
  timed_out: false,
  hits: { hits: Array.from({ length: hits }, () => ({ _version: 1, sort: ['Patient', '1'] })) },
  _shards: { total: 1, successful: 1, failed: 0 },
})
const responseError = (statusCode: number, type: string): Error =>
  new errors.ResponseError({ statusCode, body: { error: { type } }, headers: {}, warnings: null, meta: {} } as never)
const refused = new errors.ConnectionError('connect ECONNREFUSED', undefined as never)

describe.each([
  ['one type', PLAN],
  ['many types', { ...PLAN, types: MANY }],
])('a search of %s', (_, plan) => {
  it.each<readonly [string, Answering]>([
    ['does not answer', { takes: Number.POSITIVE_INFINITY }],
    ['cancels it', { takes: BUDGET, status: 500, type: 'task_cancelled_exception' }],
    ['answers 408', { takes: 1, status: 408 }],
    ['answers 504', { takes: 1, status: 504 }],
  ])('is sent once and is too costly if the engine %s', async (_, answer) => {
    answers = () => answer
    await expect(index.find(plan)).rejects.toThrow(fault('too-costly'))
    expect(attempts).toHaveLength(1)
  })

  it('is cancelled by the engine before the client gives up', async () => {
    answers = () => ({ takes: 1 })
    await index.find(plan)
    expect(attempts).toEqual([{ left: BUDGET, patience: 12_000 }])
  })

  it.each<readonly [string, Omit<Answering, 'takes'>]>([
    ['a refused connection', { error: refused }],
    ['429', { status: 429 }],
    ['502', { status: 502 }],
    ['503', { status: 503 }],
  ])('is sent again after %s, with the remaining time', async (_, fault) => {
    answers = (attempt) => (attempt < 2 ? { takes: 3_000, ...fault } : { takes: 1 })
    await index.find(plan)
    expect(attempts).toHaveLength(3)
    expect([attempts[1]!.left <= 7_000, attempts[2]!.left <= 4_000]).toEqual([true, true])
  })

  it.each([
    [429, 'overloaded'],
    [503, 'unavailable'],
  ])('fails with the last %i when its time is over', async (status, fault) => {
    answers = () => ({ takes: 100, status })
    await expect(index.find(plan)).rejects.toMatchObject({ fault })
    expect([attempts.length > 3, now <= 1_000 + BUDGET + 100]).toEqual([true, true])
  })
})

it('One budget covers all requests of a search', async () => {
  answers = () => ({ takes: 6_000, hits: 10_000 })
  await expect(index.find({ ...PLAN, limit: 40_000 })).rejects.toThrow(fault('too-costly'))
  expect(attempts.map(({ left }) => left)).toEqual([BUDGET, 4_000])
})

it('A search takes no longer than the budget of its plan, nor than that of the index', async () => {
  answers = () => ({ takes: 1 })
  for (const budget of [2_000, 2 * BUDGET]) await index.find({ ...PLAN, budget })
  expect(attempts.map(({ left }) => left)).toEqual([2_000, BUDGET])
})
