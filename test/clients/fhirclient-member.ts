/** fhirclient.js as an app on a server: `authorize` before the login, `ready` after it. https://github.com/smart-on-fhir/client-js */
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
/** The cast is necessary, because the package has types only for browsers. */
const smart = imported as unknown as (request: Tree, response: Tree, storage: Storage) => SmartApi

/** Options that return the resources of all pages. */
const PAGES = { flat: true, pageLimit: 0 }

/** Returns the storage of the client for its state between two requests of the user. */
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
  /** Returns the API for a request of the browser to the app. */
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
      // `patient.request` adds the parameter of the patient itself. It finds the parameter in the CapabilityStatement.
      const resources: Tree[] = paged.startsWith(ofPatient)
        ? await client.patient.request(paged.replace(ofPatient, 'ExplanationOfBenefit?'), PAGES)
        : await client.request(paged, PAGES)
      return resources.map(({ resourceType, id }) => `${resourceType}/${id}`)
    },
  }
}
