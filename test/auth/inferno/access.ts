/** What a token opens: all of US Core, what a user left of it, and nothing once it is revoked. */
import { expect } from '@jest/globals'
import { formsOf } from '../browser.ts'
import { FLOWS, type Flow, PATIENT_TYPES, SHARED_TYPES } from './flows.ts'
import { introspect } from './introspection.ts'
import { basicAuthorizationOf, type KitRow, runLaunch, SERVER_URL, type Site } from './kit.ts'
import { RECORD } from './record.ts'

/** The first search of each type in US Core. */
const SEARCHES: Readonly<Record<string, string>> = {
  Patient: '_id=1',
  AllergyIntolerance: 'patient=1',
  CarePlan: 'patient=1&category=assess-plan',
  CareTeam: 'patient=1&status=active',
  Condition: 'patient=1',
  Coverage: 'patient=1',
  Device: 'patient=1',
  DiagnosticReport: 'patient=1&category=LAB',
  DocumentReference: 'patient=1',
  Encounter: 'patient=1',
  Goal: 'patient=1',
  Immunization: 'patient=1',
  Location: 'name=Ward',
  MedicationDispense: 'patient=1',
  MedicationRequest: 'patient=1&intent=order',
  Observation: 'patient=1&code=59408-5',
  Procedure: 'patient=1',
  ServiceRequest: 'patient=1',
}

const FULL = ['standalone, a secret', 'standalone, scopes of SMART v1'] as const

const UNRESTRICTED = FULL.flatMap((name): readonly KitRow[] => [
  ...[...PATIENT_TYPES, ...SHARED_TYPES].map(
    (type): KitRow => [
      'g10/g10_unrestricted_resource_type_access Test01, g10_smart_scopes',
      `${name}: ${type} is granted`,
      (site) => {
        const [, access] = new RegExp(`(?:^| )patient/${type}\\.(\\S+)`).exec(site.launched.get(name)!.token.body.scope) ?? []
        expect(['read', 'rs']).toContain(access)
      },
    ],
  ),
  ...Object.entries(SEARCHES).map(
    ([type, search]): KitRow => [
      `g10/g10_unrestricted_resource_type_access ${type}`,
      `${name}: ${type} is searched, and found`,
      async (site) => {
        const { status, body } = await site.get(`${type}?${search}`, site.launched.get(name)!.token.body.access_token)
        expect([status, body.entry?.length > 0]).toEqual([200, true])
      },
    ],
  ),
])

/** What records refer to, beside the patient's own. */
const REFERRED = RECORD.filter(({ resourceType }) => SHARED_TYPES.includes(resourceType))

const RESOLVED = FULL.flatMap((name) =>
  REFERRED.map(
    ({ resourceType, id }): KitRow => [
      'us-core/reference_resolution_test',
      `${name}: a reference to ${resourceType} is followed`,
      async (site) => {
        const { status, body } = await site.get(`${resourceType}/${id}`, site.launched.get(name)!.token.body.access_token)
        expect([status, body.resourceType]).toEqual([200, resourceType])
      },
    ],
  ),
)

const LEFT = ['Patient', 'Condition', 'Observation']
const full: Flow = FLOWS['standalone, a secret']
const isOf = (scope: string, types: readonly string[]): boolean => types.some((type) => scope.startsWith(`patient/${type}.`))

/** The user is asked again, and leaves what is expected. */
async function limited(site: Site) {
  const dropped = full.scope.split(' ').filter((scope) => scope.startsWith('patient/') && !isOf(scope, LEFT))
  return (await runLaunch(site, full, { prompt: 'consent' }, { without: dropped })).token.body
}

/** Made once, by whichever row comes first. */
const limits = new WeakMap<Site, ReturnType<typeof limited>>()
function limitedOnce(site: Site): ReturnType<typeof limited> {
  const made = limits.get(site) ?? limited(site)
  limits.set(site, made)
  return made
}

const RESTRICTED = Object.keys(SEARCHES).flatMap((type): readonly KitRow[] => {
  const isLeft = LEFT.includes(type)
  return [
    [
      'g10/g10_limited_scope_grant',
      `${type} is ${isLeft ? '' : 'not '}granted, as the user left it`,
      async (site) => expect((await limitedOnce(site)).scope.split(' ').some((scope: string) => isOf(scope, [type]))).toBe(isLeft),
    ],
    [
      `g10/g10_restricted_resource_type_access ${type}`,
      `${type} is ${isLeft ? 'searched' : 'refused'}, as the user left it`,
      async (site) => {
        const { status } = await site.get(`${type}?${SEARCHES[type]}`, (await limitedOnce(site)).access_token)
        expect(isLeft ? [200] : [401, 403]).toContain(status)
      },
    ],
  ]
})

const LIMITED: readonly KitRow[] = [
  [
    'us-core/us_core_smart_standalone_launch_stu1',
    'a scope of what is no type, which stands among those of the kit, is passed over',
    async (site) => {
      const scope = 'launch/patient openid patient/Patient.read patient/media.read'
      expect((await runLaunch(site, { ...full, scope })).token.body.scope).toBe('launch/patient openid patient/Patient.read')
    },
  ],
  ...RESTRICTED,
  [
    'g10/g10_limited_scope_grant, g10_patient_context',
    'the patient is read with what the user left',
    async (site) => {
      const { patient, access_token } = await limitedOnce(site)
      const { status, body } = await site.get(`Patient/${patient}`, access_token)
      expect([status, body.resourceType]).toEqual([200, 'Patient'])
    },
  ],
  [
    'g10/g10_patient_scope',
    'an EHR launch grants scopes of a patient, as they were asked for',
    (site) => expect(site.launched.get('EHR launch, scopes of a patient')!.token.body.scope.split(' ')).toContain('patient/Patient.rs'),
  ],
]

type Revoke = (site: Site, tokens: { readonly access_token: string; readonly refresh_token: string }) => Promise<unknown>

/** A user takes back what he allowed, on the page of his account; or the app gives it back. */
const REVOKED: Readonly<Record<string, Revoke>> = {
  'the user withdraws it': async (site) => {
    const user = await site.userOf('leaver')
    const page = await user.open('/auth/account')
    const which = formsOf(page).findIndex((_, i) => page.text.split('<form')[i + 1]!.includes('value="symmetric"'))
    return user.submit(page, [['withdraw', 'symmetric']], which)
  },
  'the app revokes its refresh token': ({ ask, secrets }, { refresh_token }) =>
    ask('POST', `${SERVER_URL}/auth/revoke`, {
      form: { token: refresh_token },
      headers: basicAuthorizationOf('symmetric', secrets.symmetric),
    }),
}

const REVOCATION = Object.entries(REVOKED).flatMap(([how, revoke]): readonly KitRow[] => {
  const revoked = async (site: Site) => {
    const { body } = (await runLaunch(site, { ...full, user: 'leaver' })).token
    // Not by a read: what was read with a token just now may be read with it for some seconds.
    expect((await introspect(site, body.access_token)).body.active).toBe(true)
    await revoke(site, body)
    return body
  }
  return [
    [
      'g10/g10_token_revocation Test02',
      `where ${how}, the token no longer opens the patient`,
      async (site) => {
        const { access_token } = await revoked(site)
        expect([401, 403, 404]).toContain((await site.get('Patient/1', access_token)).status)
      },
    ],
    [
      'g10/g10_token_revocation Test03',
      `where ${how}, the refresh token is worth nothing`,
      async (site) => {
        const { refresh_token } = await revoked(site)
        expect([400, 401]).toContain((await site.proved('basic', { grant_type: 'refresh_token', refresh_token })).status)
      },
    ],
  ]
})

export const ACCESS: readonly KitRow[] = [...UNRESTRICTED, ...RESOLVED, ...LIMITED, ...REVOCATION]
