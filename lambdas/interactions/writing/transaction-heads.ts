/** The heads that a transaction writes after. 5,000 of them may be far larger than its Bundle: a body is held only where a change depends on it. */
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { othersPass } from '../time-slices.ts'
import { type Head, isFree } from './head-access.ts'

/** Heads that are read at once, and bytes of them. */
const AT_ONCE = 500
const READ_AT_ONCE = 4_500_000
/** Bytes of all bodies that are held. */
const MOST_HELD = 50_000_000

const NO_BODY = new Uint8Array()

/** `request`: of the entry. */
type Written = { readonly key: ResourceKey; readonly request: FhirRequest }

/** Returns the heads in the order of the targets. FhirError 403 if the changes depend on more than 50 MB of them. */
export async function transactionHeads(
  { heads, choices }: Pick<Ports, 'heads' | 'choices'>,
  targets: readonly Written[],
): Promise<readonly (Head | undefined)[]> {
  const needsBody = ({ request }: Written): boolean =>
    request.interaction === 'patch' || choices.noOpUpdates === 'ignore' || !isFree(request)
  const found: (Head | undefined)[] = []
  let held = 0
  while (found.length < targets.length) {
    const pause = othersPass()
    if (pause !== undefined) await pause
    const some = targets.slice(found.length, found.length + AT_ONCE)
    const read = await heads(
      some.map(({ key }) => key),
      READ_AT_ONCE,
    )
    for (const [i, head] of read.entries()) {
      const isHeld = head !== undefined && 'body' in head && needsBody(some[i]!)
      if (isHeld) held += head.body.length
      found.push(isHeld || head === undefined || 'damage' in head ? head : { ...head, body: NO_BODY })
    }
    if (held > MOST_HELD) throw tooHeavy()
  }
  return found
}

const tooHeavy = (): Error =>
  fhirError(
    403,
    'too-costly',
    `The resources that the transaction changes have more than ${MOST_HELD} bytes. Nothing was changed; send fewer entries in one Bundle`,
  )
