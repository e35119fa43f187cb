/** All rows, by what they are about. */
import { ACCESS } from './access.ts'
import { ATTESTED } from './attested.ts'
import { BACKEND } from './backend.ts'
import { DISCOVERY } from './discovery.ts'
import { GRANULAR } from './granular.ts'
import { INTROSPECTION } from './introspection.ts'
import type { KitRow } from './kit.ts'
import { LAUNCHES } from './launches.ts'
import { OPENID } from './openid.ts'
import { REFUSALS } from './refusals.ts'
import { SELECTION } from './selection.ts'

export const TABLES: Readonly<Record<string, readonly KitRow[]>> = {
  'what a client finds the server by': DISCOVERY,
  'a launch': LAUNCHES,
  'who logged in': OPENID,
  introspection: INTROSPECTION,
  'a backend service': BACKEND,
  'what comes to nothing': REFUSALS,
  'what a token opens': ACCESS,
  'scopes of some categories': GRANULAR,
  'what a user leaves of a whole type': SELECTION,
  'what a person attests': ATTESTED,
}
