/**
 * Reads the current versions that a transaction changes. Their bodies may be far larger than the Bundle. So only bodies that the changes
 * need stay in memory.
 */
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { readInParts } from '../searching/bounded-reads.ts'
import { type Head, isWriteUnrestricted } from './head-access.ts'
import { storedIdentifiersOf } from './new-identifiers.ts'

/** Maximum bytes of the bodies in memory. If they have more, the transaction is answered 403. */
const MOST_HELD = 50_000_000

const NO_BODY = new Uint8Array()

/** Target of a write. `request`: request of its entry. */
type Written = { readonly key: ResourceKey; readonly request: FhirRequest }

/**
 * Returns the current versions in the order of the targets, without the bodies that the changes do not need. Throws FhirError 403 if the
 * others have more than 50 MB.
 */
export async function readTransactionHeads(
  { heads, choices, identifiersOf }: Pick<Ports, 'heads' | 'choices' | 'identifiersOf'>,
  targets: readonly Written[],
): Promise<readonly (Head | undefined)[]> {
  const needsBody = ({ key, request }: Written): boolean =>
    request.interaction === 'patch' || choices.noOpUpdates === 'ignore' || !isWriteUnrestricted(request) || isOwnedInside(key, request)
  const found: (Head | undefined)[] = []
  let held = 0
  const read = (some: readonly Written[], room: number) =>
    heads(
      some.map(({ key }) => key),
      room,
    )
  for await (const part of readInParts(targets, read)) {
    for (const [target, head] of part) {
      const isHeld = head !== undefined && 'body' in head && needsBody(target)
      if (isHeld) held += head.body.length
      if (isHeld || head === undefined || 'damage' in head) found.push(head)
      else {
        const isReplaced = target.request.interaction !== 'delete'
        const identifiers = identifiersOf !== undefined && isReplaced ? storedIdentifiersOf(head, identifiersOf) : undefined
        found.push({ ...head, body: NO_BODY, ...(identifiers === undefined ? {} : { identifiers }) })
      }
    }
    if (held > MOST_HELD) throw tooHeavy()
  }
  return found
}

/** Whether only the body names the patient: the audit record of a deleted Device needs it. */
const isOwnedInside = ({ type }: ResourceKey, { interaction }: FhirRequest): boolean => type === 'Device' && interaction === 'delete'

const tooHeavy = (): Error =>
  fhirError(
    403,
    'too-costly',
    `The resources that the transaction changes have more than ${MOST_HELD} bytes. Nothing was changed; send fewer entries in one Bundle`,
  )
