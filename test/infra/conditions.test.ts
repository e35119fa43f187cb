/**
 * A condition of a scope may name a custom parameter. Every function that identifies its caller loads the definitions before it evaluates a
 * condition. Without definitions it would grant nothing.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { type HttpFunction, ROUTES, type Route, requiresToken } from '../../lambdas/catalogue/catalogue.ts'
import { type FunctionName, functionOf, portsOfStage } from '../../lambdas/functions/functions.ts'
import { BASE_URL, KEY, signToken } from '../access/issuing.ts'
import { assemblyOf } from './assembly.ts'
import { BUNDLED_SETTINGS } from './bundled-settings.ts'
import type { PartitionInput, PartitionResult } from './partition-access.ts'

const DEFINITIONS = 'DEFINITIONS'
/** A route for each function. */
const ASKING = [
  ...new Map(
    ROUTES.filter(({ interaction }) => requiresToken(interaction)).map((route): [HttpFunction, Route] => [
      functionOf(route.interaction) as HttpFunction,
      route,
    ]),
  ),
]

const tokenOf = (scope: string): string => {
  const now = Math.floor(Date.now() / 1_000)
  const who = { sub: 'app', azp: 'app', client_id: 'app', sid: 's', session_state: 's', acr: '0', client_auth: 'secret' }
  return signToken(KEY, { iss: BASE_URL, aud: BASE_URL, iat: now, exp: now + 600, jti: scope, typ: 'Bearer', ...who, scope })
}

/** The token is checked first, so the rest of the request need not be valid. */
const eventOf = ({ method, path }: (typeof ROUTES)[number], scope: string) => ({
  httpMethod: method,
  resource: path,
  pathParameters: { type: 'Observation', id: '1', versionId: '1', owner: 'Patient', ownerId: '1' },
  multiValueHeaders: { authorization: [`Bearer ${tokenOf(scope)}`], 'content-type': ['application/fhir+json'] },
  body: '{}',
})

const SCOPES = ['system/*.cruds', 'system/*.cruds?mine=x']

it('every function loads definitions before it evaluates a condition of a scope', async () => {
  const assembly = await assemblyOf(BUNDLED_SETTINGS)
  const rows = ASKING.flatMap(([name, route]) =>
    SCOPES.map((scope) => ({ bundle: join(assembly, 'bundles', name, `${name}.js`), event: eventOf(route, scope) })),
  )
  const answers = send(rows)
  for (const { status } of answers) expect([401, 503]).not.toContain(status)
  const looking = (nth: number) => ASKING.flatMap(([name], i) => (answers[2 * i + nth]!.partitions.includes(DEFINITIONS) ? [name] : []))
  expect(looking(1)).toEqual(ASKING.map(([name]) => name))
  // Functions that need the definitions for nothing else do not load them for a token without a condition.
  const spared = ['export-cancel', 'export-status', 'history', 'read', 'reindex', 'reindex-status', 'vread']
  expect(looking(0).sort()).toEqual(
    ASKING.map(([name]) => name)
      .filter((name) => !spared.includes(name))
      .sort(),
  )
})

it('functions admit requests without a token for types of public read, and no others', async () => {
  const assembly = await assemblyOf(BUNDLED_SETTINGS)
  const routes = ROUTES.filter(({ interaction }) => requiresToken(interaction))
  const rowsOf = (type: string, headers: object) =>
    routes.map((route) => ({
      bundle: join(assembly, 'bundles', functionOf(route.interaction)!, `${functionOf(route.interaction)}.js`),
      event: {
        ...eventOf(route, ''),
        pathParameters: { type, id: '1', versionId: '1', owner: 'Patient', ownerId: '1' },
        multiValueHeaders: headers,
        body: '',
      },
    }))
  const admitted = (answers: readonly PartitionResult[]) =>
    routes.flatMap(({ method, path }, i) => (answers[i]!.status === 401 ? [] : [`${method} ${path}`]))
  const sent = [...rowsOf('Location', {}), ...rowsOf('Patient', {}), ...rowsOf('Location', { authorization: ['Bearer garbage'] })]
  const answers = send(sent, { FHIR_PUBLIC_READ: 'system/Location.rs?name=North' })
  const [open, closed, invalid] = [0, 1, 2].map((nth) => admitted(answers.slice(nth * routes.length, (nth + 1) * routes.length)))
  expect(open).toEqual(['GET /{type}', 'POST /{type}/_search', 'GET /{type}/{id}'])
  expect([closed, invalid]).toEqual([[], []])
})

function send(rows: PartitionInput['rows'], more: Readonly<Record<string, string>> = {}): readonly PartitionResult[] {
  const input: PartitionInput = { rows, key: KEY.published, environment: { ...ENVIRONMENT, ...more } }
  const { stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'partition-access.ts')], {
    input: JSON.stringify(input),
  })
  if (stdout.length === 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString()) as readonly PartitionResult[]
}

it('each of these functions may read definitions, in stages with tokens only', () => {
  const mayLook = (name: FunctionName, access: string): boolean =>
    portsOfStage(name, access).some((port) => ['conditions', 'progress', 'definitions'].includes(port))
  expect(ASKING.filter(([name]) => !mayLook(name, 'token'))).toEqual([])
  expect(['vread', 'history'].filter((name) => mayLook(name as FunctionName, 'iam'))).toEqual([])
})

const ENVIRONMENT = {
  ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' },
  ...{ FHIR_ACCESS: 'token', FHIR_BASE_URL: BASE_URL, FHIR_AUDIT_DURABILITY: 'batched' },
  ...{ FHIR_TABLE: 'resources', FHIR_STATE_TABLE: 'state', FHIR_BUCKET: 'bucket' },
  FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:000000000000:stateMachine:rebuild',
  FHIR_EXPORT_WORKFLOW: 'arn:aws:states:us-east-1:000000000000:stateMachine:export',
  ...{ FHIR_EXPORT_BUCKET: 'exports', FHIR_EXPORT_ORIGIN: 'https://example.org', FHIR_LINK_KEY: 'key', FHIR_LINK_KEY_PAIR: 'pair' },
}
