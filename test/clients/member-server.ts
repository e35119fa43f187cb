/** Server of a payer with the claims of a member, and an app that the member may allow to read them. */
import { addClient, addUser, openAdministration } from '../../lambdas/runtime/control/administration.ts'
import { clientOf } from '../api/server.ts'
import { allowAccess, fetchedServer, logIn, openBrowser } from '../auth/browser.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { addClaimGuides, MEMBER, storeRecord } from '../fixtures/payer/member-record.ts'
import { startClientServer } from './client-server.ts'

const PASSWORD = 'correct horse battery'

/** Registration of the app. A public app proves by PKCE that it requested the code. */
export const APP = {
  id: 'claims',
  redirectUri: 'https://app.example/back',
  scope: 'launch/patient openid fhirUser offline_access patient/*.rs',
} as const

export type MemberServer = {
  readonly base: string
  /** Opens the URL to which the app sends the member, logs in and allows access. Returns the URL of the redirect to the app. */
  readonly signIn: (url: string) => Promise<string>
  readonly close: () => Promise<void>
}

export async function startMemberServer(): Promise<MemberServer> {
  const data = newFolder()
  const administration = await openAdministration(data, { isNew: true })
  const tenants = ['default']
  await addClient(administration, {
    ...{ id: APP.id, name: 'Claims', authentication: { kind: 'public' }, scopes: APP.scope.split(' ') },
    ...{ redirectUris: [APP.redirectUri], tenants, mayIntrospect: false },
  })
  await addUser(administration, { name: 'ann', scopes: ['patient/*.rs'], tenants, fhirUser: `Patient/${MEMBER}` }, PASSWORD)
  await administration.close()
  await addClaimGuides(data)
  const { base, embedded } = await startClientServer({ FHIR_ACCESS: 'token', FHIR_PKCE: 'require' }, data)
  const token = await embedded.issue({ isAdministrator: true })
  await storeRecord(
    clientOf(
      () => base,
      () => token,
    ),
  )
  return {
    base,
    async signIn(url) {
      if (!url.startsWith(`${base}/`)) throw new Error(`The app redirects the member to ${url} instead of the server`)
      const browser = openBrowser(
        fetchedServer(() => base),
        base,
      )
      const [path = '', query = ''] = url.slice(base.length).split('?')
      const answer = await allowAccess(browser, await logIn(browser, await browser.open(path, query), 'ann', PASSWORD))
      if (answer.status !== 303) throw new Error(`The server does not redirect the member to the app: ${answer.status} ${answer.text}`)
      return answer.headers.location!
    },
    close: () => embedded.close(),
  }
}
