/** What the page of consent shows is what the token has: asked, registered, and within what the user may. */
import { expect, it } from '@jest/globals'
import { BASE_URL, CLIENT_SECRET, createAuthorization, type TestAuthorization } from './authorization.ts'
import { allowAccess, formsOf, logIn, openBrowser, redirectOf } from './browser.ts'

const BACK = 'https://app.example/back'
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL }

type Case = {
  readonly asked: string
  readonly registered: string
  readonly fhirUser?: string
  readonly may: string
  /** What the token has, or what the app is told. */
  readonly comes: string
}

const CASES: Readonly<Record<string, Case>> = {
  'user/ of a RelatedPerson with patient scopes': {
    ...{ asked: 'openid user/Condition.rs', registered: 'openid user/*.rs', fhirUser: 'RelatedPerson/1', may: 'patient/*.rs' },
    comes: 'openid user/Condition.rs',
  },
  'user/ of a patient, narrowed to the allowed types': {
    ...{
      asked: 'user/*.cruds',
      registered: 'user/*.cruds patient/*.rs',
      fhirUser: 'Patient/1',
      may: 'patient/Observation.rs patient/Patient.rs',
    },
    comes: 'user/Observation.rs user/Patient.rs',
  },
  'user/ of staff with patient scopes': {
    ...{ asked: 'openid user/*.rs', registered: 'openid user/*.rs patient/*.rs', fhirUser: 'Practitioner/1', may: 'patient/*.rs' },
    comes: 'None of these scopes can be granted: user/*.rs',
  },
  'patient/ within user/': {
    ...{ asked: 'patient/Condition.read', registered: 'patient/*.rs', fhirUser: 'RelatedPerson/1', may: 'user/*.cruds' },
    comes: 'patient/Condition.read',
  },
  'conditions of all three': {
    ...{
      asked: 'user/Observation.rs?a=1',
      registered: 'user/Observation.cruds?b=2',
      fhirUser: 'Practitioner/1',
      may: 'user/*.rs user/*.r?c=3',
    },
    comes: 'user/Observation.rs?a=1&b=2',
  },
  'data beyond the registration of the app': {
    ...{ asked: 'openid patient/*.rs', registered: 'openid user/*.rs', fhirUser: 'Patient/1', may: 'user/*.rs' },
    comes: 'The client is registered for none of: patient/*.rs',
  },
  'the whole system': {
    ...{ asked: 'openid system/*.rs', registered: 'openid system/*.rs', fhirUser: 'Practitioner/1', may: 'system/*.rs' },
    comes: 'None of these scopes can be granted: system/*.rs',
  },
  'no data at all': { asked: 'openid', registered: 'openid user/*.rs', may: 'patient/*.rs', comes: 'openid' },
  'a launch without a launch parameter': {
    ...{ asked: 'launch', registered: 'launch', may: 'user/*.rs' },
    comes: 'None of these scopes can be granted: launch',
  },
}

async function cameOf(auth: TestAuthorization, scope: string): Promise<{ readonly comes: string; readonly shown?: readonly string[] }> {
  const user = openBrowser(auth)
  const first = await user.open('/auth/authorize', { ...ASKED, scope })
  const page = first.status === 303 ? first : await logIn(user, first, 'ann')
  if (page.status === 303) return { comes: redirectOf(page).sent.error_description! }
  const shown = formsOf(page)[0]!.fields.flatMap(([name, value]) => (name === 'keep' ? [value] : []))
  const { code = '' } = redirectOf(await allowAccess(user, page)).sent
  const form = { ...{ grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET }, code, redirect_uri: BACK }
  return { comes: (await auth.ask('POST', '/auth/token', { form })).body.scope, shown }
}

it.each(Object.entries(CASES))('consent shows and grants the same scopes: %s', async (_, { asked, registered, fhirUser, may, comes }) => {
  const auth = await createAuthorization({ patients: [{ id: '1', name: 'Ann' }] })
  await auth.addClient('app', { redirectUris: [BACK], scopes: registered.split(' ') })
  await auth.addUser('ann', { scopes: may.split(' '), ...(fhirUser === undefined ? {} : { fhirUser }) })
  const came = await cameOf(auth, asked)
  expect(came.comes).toBe(comes)
  if (came.shown !== undefined) expect(came.shown).toEqual(comes.split(' ').filter((scope) => scope !== 'openid'))
})
