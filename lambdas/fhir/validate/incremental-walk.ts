/**
 * Validation of large resources in pieces. Between two pieces, other requests can use the thread. walk.ts validates the small parts. The
 * issues are the same as without pieces, in the same order.
 */
import { type Element, isElement } from '../resource.ts'
import { checkContainedUse } from './contained-references.ts'
import type { CompiledShape, Member, Rule } from './type-shapes.ts'
import {
  checkItem,
  checkMember,
  checkReferenceOrCoding,
  checkRequiredMembers,
  checkRule,
  containedContextOf,
  enterContained,
  enterMember,
  isNestedElement,
  shapeOfMember,
  shapeOfResource,
  type Walk,
  type WalkContext,
  walkContextOf,
} from './walk.ts'

/** Reason for a pause: a piece has ended, or a rule follows. A rule may read the whole resource and take as long as many pieces. */
export type Pause = 'piece' | 'rule'
type Pieces<Result = void> = Generator<Pause, Result>

/** Approximate maximum of members and items that are validated without a pause. */
export const MEMBERS_PER_PIECE = 2_000

export const isLargeTree = (tree: unknown): boolean => sizeOf(tree, MEMBERS_PER_PIECE) > MEMBERS_PER_PIECE

/**
 * Returns the number of members and items of a tree, including the tree itself. Stops counting beyond `limit`, so that large trees cost no
 * more.
 */
function sizeOf(tree: unknown, limit: number): number {
  let size = 1
  if (Array.isArray(tree)) {
    for (const item of tree) {
      if (size > limit) break
      size += sizeOf(item, limit - size)
    }
  } else if (isElement(tree)) {
    for (const key in tree) {
      if (size > limit) break
      size += sizeOf(tree[key], limit - size)
    }
  }
  return size
}

export function* checkRootInPieces(resource: Element, walk: Walk): Pieces {
  const within = walkContextOf(resource, walk)
  if (yield* resourceInPieces(resource, within)) checkContainedUse(resource, within, within.findings)
}

function* resourceInPieces(resource: Element, within: WalkContext): Pieces<boolean> {
  const shape = shapeOfResource(resource, within)
  if (shape !== undefined) yield* objectInPieces(resource, shape, within)
  return shape !== undefined
}

function* objectInPieces(object: Element, shape: CompiledShape, within: WalkContext): Pieces {
  let seen = 0
  let members = 0
  for (const key in object) {
    if (shape.isResource && key === 'resourceType') continue
    members++
    const member = enterMember(object, key, seen, shape, within)
    if (member === undefined) continue
    seen |= member.bit
    if (isLargeTree(object[key])) yield* memberInPieces(object, object[key], member, within)
    else checkMember(object, object[key], member, within)
    within.findings.leave()
    yield 'piece'
  }
  checkRequiredMembers(object, shape, seen, members, false, within.findings)
  yield* rulesInPieces(shape.rules, object, within)
}

function* rulesInPieces(rules: readonly Rule[], focus: unknown, within: WalkContext): Pieces {
  for (const rule of rules) {
    yield 'rule'
    checkRule(rule, focus, within)
  }
}

function* memberInPieces(object: Element, value: unknown, member: Member, within: WalkContext): Pieces {
  const isKnown = member.companionOf === undefined && member.list === Array.isArray(value)
  if (isKnown && Array.isArray(value)) yield* itemsInPieces(value, object, member, within)
  else if (isKnown && member.primitive === undefined) yield* valueInPieces(value, member, within)
  else checkMember(object, value, member, within)
}

function* itemsInPieces(items: readonly unknown[], object: Element, member: Member, within: WalkContext): Pieces {
  let size = 0
  for (const [index, item] of items.entries()) {
    const more = sizeOf(item, MEMBERS_PER_PIECE)
    if (size + more > MEMBERS_PER_PIECE) {
      yield 'piece'
      size = 0
    }
    size += more
    if (more <= MEMBERS_PER_PIECE || member.primitive !== undefined) checkItem(item, index, object, member, within)
    else {
      within.findings.enter(index)
      yield* valueInPieces(item, member, within)
      within.findings.leave()
    }
  }
}

function* valueInPieces(value: unknown, member: Member, within: WalkContext): Pieces {
  if (!isNestedElement(value, within)) return
  if (member.type !== 'Resource') {
    yield* objectInPieces(value, shapeOfMember(member), within)
    checkReferenceOrCoding(value, member, within)
    yield* rulesInPieces(member.rules, value, within)
  } else if (member.key !== 'contained') yield* checkRootInPieces(value, within)
  else {
    const leave = enterContained(value, within)
    yield* resourceInPieces(value, containedContextOf(value, within))
    leave()
  }
}
