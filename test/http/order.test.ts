/** The order of every request: what order.ts says is what the pipelines bind, and routes answer. */
import { describe, expect, it } from '@jest/globals'
import {
  type Column,
  columnOf,
  ENDPOINT_ROUTES,
  ENDPOINTS,
  type EndpointCode,
  INTERACTIONS,
  type InteractionCode,
  type PipelineCode,
  ROUTES,
  requiresToken,
} from '../../lambdas/catalogue/catalogue.ts'
import { openAuthenticator } from '../../lambdas/http/authenticators.ts'
import { entryStepsOf, stepsOf } from '../../lambdas/http/order.ts'
import { pipeline } from '../../lambdas/http/pipeline.ts'
import { authorizingSteps } from '../../lambdas/http/pipelines/authorizing.ts'
import { downloadingSteps } from '../../lambdas/http/pipelines/downloading.ts'
import { exportingSteps } from '../../lambdas/http/pipelines/exporting.ts'
import { operatingSteps } from '../../lambdas/http/pipelines/operating.ts'
import { readingSteps } from '../../lambdas/http/pipelines/reading.ts'
import { searchingSteps } from '../../lambdas/http/pipelines/searching.ts'
import { writingSteps } from '../../lambdas/http/pipelines/writing.ts'
import { matchEntry, matchRoute } from '../../lambdas/http/route-table.ts'

const parts = {
  audit: { prepare: () => undefined, record: () => undefined, close: async () => undefined },
  clock: { now: () => 0, newId: () => 'id' },
  origins: '*' as const,
  maxBody: 1,
  writes: 'on' as const,
  loopbackOnly: true,
  authenticator: openAuthenticator,
  report: () => undefined,
  tokens: {
    seal: { seal: () => '', open: () => undefined, digest: () => '' },
    clock: { now: () => 0, newId: () => 'id' },
    consistency: 'eventual' as const,
    index: { caughtUp: async () => true },
    blobs: { get: async () => undefined, put: async () => undefined },
    tokensOf: () => [],
  },
}

const [searching, writing] = [searchingSteps(parts), writingSteps(parts)]
const BOUND = {
  authorizing: authorizingSteps(parts),
  downloading: downloadingSteps(parts),
  exporting: exportingSteps(parts),
  operating: operatingSteps(parts),
  reading: readingSteps(parts),
  searching,
  writing,
  'writing and searching': { ...writing, ...searching },
  'writing and operating': { ...writing, ...operatingSteps(parts) },
  'searching and operating': { ...searching, ...operatingSteps(parts) },
}
/** Steps that functions bind for the codes of a column. */
const STEPS_OF: Readonly<Record<Column, keyof typeof BOUND>> = {
  READ: 'reading',
  SAVE: 'writing',
  PATCH: 'writing',
  DELETE: 'writing',
  SEARCH: 'searching',
  BUNDLE: 'writing and searching',
  OPERATION: 'reading',
  QUERY: 'searching and operating',
  INPUT: 'operating',
  MATCH: 'writing and operating',
  EXPORT: 'exporting',
  JOB: 'exporting',
  FILE: 'downloading',
  METADATA: 'reading',
  AUTH: 'authorizing',
  EXPLORER: 'reading',
  HEALTH: 'reading',
  FALLBACK: 'reading',
}
const INTERACTION_CODES = Object.keys(INTERACTIONS) as InteractionCode[]
const ENDPOINT_CODES = Object.keys(ENDPOINTS) as EndpointCode[]
const CODES: readonly PipelineCode[] = [...INTERACTION_CODES, ...ENDPOINT_CODES, 'fallback']

describe('each pipeline', () => {
  it.each(CODES.map((code) => [code, STEPS_OF[columnOf(code)]] as const))('%s has all its steps among those of %s', (code, kind) =>
    expect(stepsOf(code).filter((step) => BOUND[kind][step] === undefined)).toEqual([]),
  )
  it('is rejected if a step is missing', () => {
    const { describeErrors, ...rest } = BOUND.reading
    expect(describeErrors).toBeDefined()
    expect(() => pipeline('read', rest, async () => ({ status: 200 }))).toThrow('the step describeErrors is not bound')
  })
})

it('audit and error steps are outermost, and checks precede the body', () => {
  expect(stepsOf('create')).toEqual([
    'recordAudit',
    'allowOrigins',
    'writeResponse',
    'describeErrors',
    'checkHost',
    'authenticate',
    'negotiateFormat',
    'limitBody',
    'checkType',
    'parsePreferences',
    'parsePreconditions',
    'checkScope',
    'mayWrite',
    'parseResource',
    'validateResource',
    'tellWarnings',
    'tellIndexToken',
    'shapeBody',
  ])
  expect(entryStepsOf('update')).toEqual([
    'checkType',
    'parsePreferences',
    'parsePreconditions',
    'checkScope',
    'mayWrite',
    'validateResource',
    'shapeBody',
  ])
})

it('levelTime precedes every step that can report a missing resource', () => {
  for (const code of ['read', 'vread', 'history-instance', 'patch', 'meta', 'everything', 'docref', 'validate', 'export'] as const)
    expect(stepsOf(code).slice(2, 5)).toEqual(['writeResponse', 'levelTime', 'describeErrors'])
})

it('authentication precedes every step that reads content', () => {
  const reading = [
    'negotiateFormat',
    'limitBody',
    'parseForm',
    'parseResource',
    'parsePatch',
    'parseKickOff',
    'parseInput',
    'awaitIndexToken',
    'parsePreferences',
  ]
  for (const code of INTERACTION_CODES) {
    const steps: readonly string[] = stepsOf(code)
    expect([code, steps.includes('authenticate')]).toEqual([code, true])
    expect(steps.slice(0, steps.indexOf('authenticate')).filter((step) => reading.includes(step))).toEqual([])
  }
  expect(CODES.filter((code) => !requiresToken(code)).sort()).toEqual(['capabilities', 'export-file', 'fallback', ...ENDPOINT_CODES].sort())
})

it('a Bundle is read before its index token is awaited', () =>
  expect(stepsOf('bundle').slice(-4)).toEqual(['parseResource', 'tellIndexToken', 'awaitIndexToken', 'shapeBody']))

it('the health is neither audited nor for scripts of other origins', () =>
  expect(stepsOf('health')).toEqual(['writeResponse', 'describeErrors', 'checkHost']))

it('every code except the fallback has a route', () => {
  const routed: ReadonlySet<PipelineCode> = new Set([...ROUTES, ...ENDPOINT_ROUTES].map(({ interaction }) => interaction))
  expect(CODES.filter((code) => !routed.has(code))).toEqual(['fallback'])
})

it('every route matches its interaction', () => {
  for (const { method, path, interaction } of [...ROUTES, ...ENDPOINT_ROUTES]) {
    const concrete = path.replace('{type}', 'Patient').replace('{id}', '1').replace('{versionId}', '2')
    expect([method, path, matchRoute(method, concrete).interaction]).toEqual([method, path, interaction])
  }
})

it('every GET also supports HEAD, except exports, logins, registrations and the explorer', () => {
  for (const { path } of [...ROUTES, ...ENDPOINT_ROUTES].filter(({ method }) => method === 'GET')) {
    const concrete = path.replace('{type}', 'Patient').replace('{id}', '1').replace('{versionId}', '2')
    const head = () => matchRoute('HEAD', concrete).interaction
    if (/\$(?:davinci-data-)?export$|\/(?:authorize|register)$|^\/explorer/.test(path))
      expect(head).toThrow(expect.objectContaining({ status: 405 }))
    else expect([path, head()]).toEqual([path, matchRoute('GET', concrete).interaction])
  }
})

it('a path with too many segments is 404, empty ones included', () => {
  expect(matchRoute('GET', `/Patient/1${'/'.repeat(96)}_history`).interaction).toBe('history-instance')
  expect(() => matchRoute('GET', `/Patient/1${'/'.repeat(98)}_history`)).toThrow(expect.objectContaining({ status: 404 }))
})

it('an entry is matched by its path, relative to any base URL of the server', () => {
  const bases = { baseUrl: 'http://a/fhir', otherBases: ['http://b/fhir'] }
  const searched = { interaction: 'search-type', query: '_id=1' }
  for (const base of ['', '/', 'http://a/fhir/', 'http://b/fhir/'])
    expect(matchEntry({ method: 'GET', url: `${base}Patient?_id=1` }, bases)).toMatchObject(searched)
  for (const base of ['http://a/fhir', 'http://b/fhir'])
    expect(matchEntry({ method: 'GET', url: `${base}?_id=1` }, bases)).toMatchObject({ interaction: 'search-system', query: '_id=1' })
  for (const base of ['http://c/fhir/', 'http://b/fhirs/', 'http://a/fhirPatient/'])
    expect(() => matchEntry({ method: 'GET', url: `${base}Patient/1` }, bases)).toThrow(expect.objectContaining({ status: 404 }))
})

it('below /auth, /.well-known and /health no segment is a type, elsewhere every one is', () => {
  for (const path of ['/auth/1', '/auth', '/.well-known/1', '/auth/1/_history', '/auth/1/Observation'])
    expect(() => matchRoute('GET', path)).toThrow(expect.objectContaining({ status: 404 }))
  expect(() => matchRoute('GET', '/health/1')).toThrow(expect.objectContaining({ status: 404 }))
  expect(matchRoute('GET', '/Patient/auth').named).toEqual({ type: 'Patient', id: 'auth' })
  expect(matchRoute('GET', '/Auth/1').interaction).toBe('read')
  expect(() => matchEntry({ method: 'POST', url: 'http://a/auth/token' }, { baseUrl: 'http://a' })).toThrow(
    expect.objectContaining({ status: 400 }),
  )
})
