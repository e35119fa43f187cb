/** Whom a launch is about, as the data say. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findLaunchPatient } from '../../../lambdas/auth/launch/launch-patient.ts'
import { type Launch, launchCompletion } from '../../../lambdas/auth/launch/launches.ts'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import type { User } from '../../../lambdas/ports/rows/users.ts'
import { BASE_URL, openSite, operatorOf, type Site } from '../site.ts'

let site: Site

const encounter = (id: string, subject: object | undefined) => ({
  ...{ resourceType: 'Encounter', id, status: 'planned', class: { code: 'AMB' } },
  ...(subject === undefined ? {} : { subject }),
})

const ENCOUNTERS: Readonly<Record<string, object | undefined>> = {
  ann: { reference: 'Patient/ann' },
  absolute: { reference: `${BASE_URL}/Patient/ann` },
  elsewhere: { reference: 'https://elsewhere.example/fhir/Patient/ann' },
  group: { reference: 'Group/ann' },
  described: { display: 'Ann' },
  nobody: undefined,
}

beforeAll(async () => {
  site = await openSite()
  const put = async (tenant: string, body: { readonly resourceType: string; readonly id: string }) =>
    expect((await site.load(operatorOf(tenant), 'PUT', `/${body.resourceType}/${body.id}`, { body })).status).toBe(201)
  for (const id of ['ann', 'bob', 'gone']) await put('north', { resourceType: 'Patient', id })
  for (const [id, subject] of Object.entries(ENCOUNTERS)) await put('north', encounter(id, subject))
  for (const id of ['bob', 'sue']) await put('south', { resourceType: 'Patient', id })
  await site.ask(operatorOf('north'), 'DELETE', '/Patient/gone')
})
afterAll(() => site.close())

const BOTH = ['north', 'south']

it.each<readonly [Pick<Launch, 'patient' | 'encounter'>, readonly string[], object]>([
  [{}, ['north'], {}],
  [{ patient: 'ann' }, BOTH, { tenant: 'north', patient: 'ann' }],
  [{ patient: 'bob' }, ['south'], { tenant: 'south', patient: 'bob' }],
  [{ patient: 'bob' }, BOTH, { fault: 'Several tenants have Patient/bob: say whose it is' }],
  [{ patient: 'bob' }, ['*'], { fault: 'Several tenants have Patient/bob: say whose it is' }],
  [{ patient: 'sue' }, ['north'], { fault: 'There is no Patient/sue' }],
  [{ patient: 'gone' }, BOTH, { fault: 'There is no Patient/gone' }],
  [{ patient: 'never' }, BOTH, { fault: 'There is no Patient/never' }],
  [{ encounter: 'ann' }, BOTH, { tenant: 'north', patient: 'ann' }],
  [{ encounter: 'absolute' }, BOTH, { tenant: 'north', patient: 'ann' }],
  [{ encounter: 'ann', patient: 'ann' }, BOTH, { tenant: 'north', patient: 'ann' }],
  [{ encounter: 'ann', patient: 'bob' }, BOTH, { fault: 'Encounter/ann is not of Patient/bob' }],
  [{ encounter: 'ann' }, ['south'], { fault: 'There is no Encounter/ann' }],
  [{ encounter: 'nobody', patient: 'ann' }, BOTH, { fault: 'Encounter/nobody is not of Patient/ann' }],
])('%j in %j resolves to its tenant and patient, or a fault', async (launch, tenants, expected) => {
  const found = await findLaunchPatient(site.patients, tenants, launch)
  expect(found).toEqual('fault' in expected ? expected : expect.objectContaining(expected))
})

it.each(['elsewhere', 'group', 'described', 'nobody'])('an encounter without a local patient yields no patient: %s', async (id) => {
  expect(await findLaunchPatient(site.patients, ['north'], { encounter: id })).toEqual({ type: 'Encounter', tenant: 'north' })
})

describe('A launch by an operator', () => {
  const client = { id: 'app', scopes: ['launch'], tenants: ['*'] } as unknown as Client
  const user: User = {
    ...{ name: 'ann', subject: 's', password: '', scopes: ['user/*.rs'], tenants: ['north'], changedAt: 0, fhirUser: 'Patient/ann' },
  }
  const CHOICES = { tenancy: true, tenantClaim: 'tenant', pkce: 'accept', organizationName: '' } as const
  const completed = (launch: Omit<Launch, 'client'>, more: Partial<{ client: Client; user: User }> = {}) =>
    launchCompletion({ patients: site.patients, choices: CHOICES })({ client: 'app', ...launch }, { client, user: undefined, ...more })

  it('gets the patient and the tenant that the data determine', async () => {
    expect(await completed({ encounter: 'ann' })).toEqual({ client: 'app', encounter: 'ann', patient: 'ann', tenant: 'north' })
    expect(await completed({ patient: 'bob', tenant: 'south' })).toEqual({ client: 'app', patient: 'bob', tenant: 'south' })
    expect(await completed({ user: 'ann' }, { user })).toEqual({ client: 'app', user: 'ann' })
  })

  it('is rejected if it contradicts the data', async () => {
    await expect(completed({ patient: 'bob' })).rejects.toThrow(new RangeError('Several tenants have Patient/bob: say whose it is'))
    await expect(completed({ user: 'ann', patient: 'bob' }, { user })).rejects.toThrow(
      new RangeError('The user ann may not see Patient/bob'),
    )
    await expect(completed({ tenant: 'west' })).rejects.toThrow(new RangeError('There is no tenant west'))
    const staff: User = { ...user, tenants: ['north', 'south'], fhirUser: 'Practitioner/1' }
    for (const tenants of [['north', 'south'], ['*']])
      await expect(completed({ user: 'ann' }, { user: { ...staff, tenants } })).rejects.toThrow(
        new RangeError('The user ann has several tenants: say for which it is'),
      )
    expect(await completed({ user: 'ann', tenant: 'south' }, { user: staff })).toEqual({ client: 'app', user: 'ann', tenant: 'south' })
    await expect(completed({ user: 'ann', tenant: 'north' }, { user: { ...user, tenants: ['*'] } })).rejects.toThrow(
      new RangeError('The client, the user and the launch have no tenant in common'),
    )
    await expect(completed({ tenant: 'west' }, { client: { ...client, tenants: ['north'] } })).rejects.toThrow(
      new RangeError('The client, the user and the launch have no tenant in common'),
    )
  })
})
