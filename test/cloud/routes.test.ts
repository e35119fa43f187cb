/**
 * Every route on the deployed stacks, behind the gateway of the stand-in: a function answers, and has the permissions that it needs. The part
 * `here` tests the content of the responses.
 */
import { beforeAll, expect, it } from '@jest/globals'
import { ENDPOINT_ROUTES, type OperationCode, ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { OPERATIONS } from '../../lambdas/interactions/capabilities/operation-claims.ts'
import type { TestResponse } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { runOnCloud } from './requested-deployment.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
/** Interactions that are answered 404, because there is neither a job nor a file. */
const OF_NO_EXPORT = ['export-status', 'export-cancel', 'export-file', 'export-file-for-partner']
const ASYNC = { prefer: 'respond-async' }

/** Returns the type that claims the operation, and Patient for every other interaction. */
const typeOf = (interaction: string): string =>
  OPERATIONS[interaction as OperationCode]?.flatMap(({ of }) => of).find(isResourceType) ?? 'Patient'

const placed = (path: string, interaction: string): string =>
  path
    .replace('{owner}/{ownerId}', 'Patient/a')
    .replace(/^(\/Patient\/a)\/\{type\}/, '$1/Observation')
    .replace('{type}/{id}/$export', 'Group/a/$export')
    .replace('{type}', typeOf(interaction))
    .replace('{id}', 'a')
    .replace('{versionId}', '1')
    .replace('{file}', 'Patient.ndjson')

const isForm = (interaction: string, path: string): boolean =>
  path.endsWith('/_search') || path.startsWith('/auth') || interaction === 'docref'

runOnCloud('a route of the stacks', {}, (_, { put, send }) => {
  beforeAll(async () => {
    for (let version = 1; version <= 2; version++)
      expect((await put('/Patient/a', patient('a', { active: version === 2 }))).status).toBeLessThan(300)
    const group = { resourceType: 'Group', id: 'a', type: 'person', actual: true, member: [{ entity: { reference: 'Patient/a' } }] }
    expect((await put('/Group/a', group)).status).toBeLessThan(300)
  })

  const asked = (method: string, path: string, interaction: string): Promise<TestResponse> => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : isForm(interaction, path) ? '_count=1' : patient('a')
    return send(method, placed(path, interaction), body, {
      ...(isForm(interaction, path) ? FORM : {}),
      ...(interaction === 'export' ? ASYNC : {}),
    })
  }

  it.each([...ROUTES, ...ENDPOINT_ROUTES].toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE')))(
    '$method $path is answered by a function',
    async ({ method, path, interaction }) => {
      const { status, headers } = await asked(method, path, interaction)
      expect(headers.get('x-request-id')).toMatch(/\S/)
      // A stage is not ready before its first heartbeat.
      if (interaction !== 'health') expect(status).toBeLessThan(500)
      expect(status === 405 || (status === 404 && !OF_NO_EXPORT.includes(interaction))).toBe(false)
    },
  )
})
