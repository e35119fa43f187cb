/** The client of SMART Health IT as an app on a server: `authorize` before the login, `ready` after it. https://github.com/smart-on-fhir/client-js */
import imported from 'fhirclient'
import type { Tree } from '../fixtures/resources.ts'
import type { MemberClient } from './member-claims.ts'
import { APP } from './member-server.ts'

type Request = (url: string, options: Tree) => Promise<Tree>
type SmartClient = {
  readonly patient: { readonly id: string; readonly read: () => Promise<Tree>; readonly request: Request }
  readonly refresh: () => Promise<Tree>
  readonly request: Request
}
type Storage = {
  readonly get: (key: string) => Promise<unknown>
  readonly set: (key: string, value: unknown) => Promise<unknown>
  readonly unset: (key: string) => Promise<boolean>
}
type SmartApi = { readonly authorize: (options: Tree) => Promise<string>; readonly ready: () => Promise<SmartClient> }
/** Its types are those of its entry for browsers. */
const smart = imported as unknown as (request: Tree, response: Tree, storage: Storage) => SmartApi

/** All pages, as resources. */
const PAGES = { flat: true, pageLimit: 0 }

/** What it keeps of the user between two requests. */
function createStorage(): Storage {
  const kept = new Map<string, unknown>()
  return {
    get: async (key) => kept.get(key),
    set: async (key, value) => kept.set(key, value),
    unset: async (key) => kept.delete(key),
  }
}

export function fhirclientOfMember(base: string): MemberClient {
  const storage = createStorage()
  /** The API while the app answers a request of the browser. */
  const at = (url: string): SmartApi => {
    const { host, pathname, search } = new URL(url)
    return smart({ url: pathname + search, headers: { host, 'x-forwarded-proto': 'https' }, socket: {} }, {}, storage)
  }
  let client: SmartClient
  return {
    async logIn(signIn) {
      const { id: clientId, redirectUri, scope } = APP
      const url = await at(`https://app.example/launch`).authorize({ iss: base, clientId, redirectUri, scope, noRedirect: true })
      client = await at(await signIn(url)).ready()
      await client.refresh()
      return (await client.patient.read()).id
    },
    async read(query) {
      const paged = `${query}${query.includes('?') ? '&' : '?'}_count=2`
      const ofPatient = `ExplanationOfBenefit?patient=${client.patient.id}&`
      // Within its patient it adds the parameter itself, by the CapabilityStatement.
      const resources: Tree[] = paged.startsWith(ofPatient)
        ? await client.patient.request(paged.replace(ofPatient, 'ExplanationOfBenefit?'), PAGES)
        : await client.request(paged, PAGES)
      return resources.map(({ resourceType, id }) => `${resourceType}/${id}`)
    },
  }
}
