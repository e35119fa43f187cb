/**
 * Selection of the tenant of a read without X-Tenant-Id, and the callers that may omit the header. test/api/union-read.test.ts tests the
 * responses.
 */
import { expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { TenantNotSelected } from '../../../lambdas/access/verification/tenant-claim.ts'
import { implicitToken, type VerifiedToken } from '../../../lambdas/access/verification/verified-token.ts'
import type { Exchange } from '../../../lambdas/http/exchange.ts'
import { admission, authenticate } from '../../../lambdas/http/steps/authenticate.ts'
import { MAX_UNION_TENANTS, readTenant } from '../../../lambdas/interactions/resources/union-read.ts'
import type { VisibleStoreOf } from '../../../lambdas/interactions/visible-store.ts'

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `t${i}`)

/** Returns a selection among tenants. `having`: tenants with the resource. */
const selecting = (having: readonly string[], stored: readonly string[] = []) => {
  const current = async ([key]: readonly { readonly tenant: string }[]) => [
    having.includes(key!.tenant) ? { ...key!, deleted: false } : undefined,
  ]
  return readTenant({
    resources: (() => ({ current })) as unknown as VisibleStoreOf,
    stored: {
      async *tenants() {
        yield* stored
      },
    },
  })
}

const READ = { type: 'Patient', id: 'x' }
const callerIn = async () => ({ access: WHOLE_ACCESS, reading: {} as never })

it('A read covers at most 50 tenants, of the token or of the store', async () => {
  const most = names(MAX_UNION_TENANTS)
  for (const tenants of [most, '*'] as const)
    expect(await selecting(['t49'], most)(READ, tenants, callerIn)).toEqual({ tenant: 't49', hasMoved: false })
  const more = names(MAX_UNION_TENANTS + 1)
  for (const tenants of [more, '*'] as const)
    await expect(selecting(['t0'], more)(READ, tenants, callerIn)).rejects.toMatchObject({ status: 400, issues: [{ code: 'too-costly' }] })
})

it('A read needs X-Tenant-Id if several tenants have the resource, and goes to the first tenant if none has', async () => {
  await expect(selecting(['a', 'b'])(READ, ['a', 'b'], callerIn)).rejects.toMatchObject({ status: 400, issues: [{ code: 'required' }] })
  expect(await selecting([])(READ, ['a', 'b'], callerIn)).toMatchObject({ tenant: 'a' })
  expect(await selecting([])(READ, '*', callerIn)).toMatchObject({ tenant: 'default' })
  expect(await selecting(['b'])({ type: 'Patient', id: 'no id' }, ['a', 'b'], callerIn)).toMatchObject({ tenant: 'a' })
})

const tokenIn = (tenant: string, more: Partial<VerifiedToken>): VerifiedToken => ({ ...implicitToken('app'), tenant, ...more })

/** Read by a token of the tenants a and b, after the step. `error`: its error. */
async function identified(more: Partial<VerifiedToken>, having = ['b']): Promise<Exchange & { readonly error?: unknown }> {
  const parts = {
    authenticator: async ({ headers: { 'x-tenant-id': tenant } }: Exchange['http']) => {
      if (tenant === undefined) throw new TenantNotSelected(['a', 'b'])
      return tokenIn(tenant, more)
    },
    readTenant: selecting(having),
  }
  const http = { method: 'GET', path: '/Patient/x', query: '', headers: {}, body: new Uint8Array() }
  const { unread } = await admission(parts)(http)
  if (unread !== undefined) return { error: unread } as never
  const site = { baseUrl: 'http://127.0.0.1/fhir', reading: () => ({}) as never }
  const event = { http, interaction: 'read', site, fhir: READ, token: undefined, caller: undefined } as unknown as Exchange
  try {
    await authenticate(parts).before!({ event } as never)
    return event
  } catch (error) {
    return { ...event, error }
  }
}

const NEEDS_TENANT = { status: 400, issues: [{ code: 'required' }] }

it('A client may read without X-Tenant-Id, and a partner may not', async () => {
  expect((await identified({})).caller?.tenant).toBe('b')
  expect(await identified({ partner: {} as never })).toMatchObject({ error: NEEDS_TENANT })
})

it('A read that needs X-Tenant-Id names its client in the audit record', async () => {
  expect(await identified({}, ['a', 'b'])).toMatchObject({ error: NEEDS_TENANT, token: { client: 'app' }, caller: undefined })
})
