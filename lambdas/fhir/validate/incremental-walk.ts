/**
 * The walk through what is large: between two of its pieces others may have the thread. What is not large, in it, is walked as ever, and the
 * findings come in the same order.
 */
import { type Element, isElement } from '../resource.ts'
import { checkAreUsed } from './contained-references.ts'
import type { LiveShape, Member, Rule } from './type-shapes.ts'
import {
  checkItem,
  checkKind,
  checkMember,
  checkPresent,
  checkRule,
  enterContained,
  enterMember,
  insideContained,
  isBranch,
  shapeIn,
  shapeOfResource,
  type Walk,
  type Within,
  withinOf,
} from './walk.ts'

/** Before the next piece, or before a rule, which may look at all there is and take as long as many pieces. */
export type Pause = 'piece' | 'rule'
type Pieces<Result = void> = Generator<Pause, Result>

/** Members and items. */
export const PIECE = 2_000

export const isLarge = (tree: unknown): boolean => sizeOf(tree, PIECE) > PIECE

/** How many members and items there are, with itself; counted until there are more than `most`. */
function sizeOf(tree: unknown, most: number): number {
  let size = 1
  if (Array.isArray(tree)) {
    for (const item of tree) {
      if (size > most) break
      size += sizeOf(item, most - size)
    }
  } else if (isElement(tree)) {
    for (const key in tree) {
      if (size > most) break
      size += sizeOf(tree[key], most - size)
    }
  }
  return size
}

export function* rootInPieces(resource: Element, walk: Walk): Pieces {
  const within = withinOf(resource, walk)
  if (yield* resourceInPieces(resource, within)) checkAreUsed(resource, within, within.findings)
}

function* resourceInPieces(resource: Element, within: Within): Pieces<boolean> {
  const shape = shapeOfResource(resource, within)
  if (shape !== undefined) yield* objectInPieces(resource, shape, within)
  return shape !== undefined
}

function* objectInPieces(object: Element, shape: LiveShape, within: Within): Pieces {
  let seen = 0
  let members = 0
  for (const key in object) {
    if (shape.isResource && key === 'resourceType') continue
    members++
    const member = enterMember(object, key, seen, shape, within)
    if (member === undefined) continue
    seen |= member.bit
    if (isLarge(object[key])) yield* memberInPieces(object, object[key], member, within)
    else checkMember(object, object[key], member, within)
    within.findings.leave()
    yield 'piece'
  }
  checkPresent(object, shape, seen, members, false, within.findings)
  yield* rulesInPieces(shape.rules, object, within)
}

function* rulesInPieces(rules: readonly Rule[], focus: unknown, within: Within): Pieces {
  for (const rule of rules) {
    yield 'rule'
    checkRule(rule, focus, within)
  }
}

function* memberInPieces(object: Element, value: unknown, member: Member, within: Within): Pieces {
  const isKnown = member.companionOf === undefined && member.list === Array.isArray(value)
  if (isKnown && Array.isArray(value)) yield* itemsInPieces(value, object, member, within)
  else if (isKnown && member.primitive === undefined) yield* valueInPieces(value, member, within)
  else checkMember(object, value, member, within)
}

function* itemsInPieces(items: readonly unknown[], object: Element, member: Member, within: Within): Pieces {
  let size = 0
  for (const [index, item] of items.entries()) {
    const more = sizeOf(item, PIECE)
    if (size + more > PIECE) {
      yield 'piece'
      size = 0
    }
    size += more
    if (more <= PIECE || member.primitive !== undefined) checkItem(item, index, object, member, within)
    else {
      within.findings.enter(index)
      yield* valueInPieces(item, member, within)
      within.findings.leave()
    }
  }
}

function* valueInPieces(value: unknown, member: Member, within: Within): Pieces {
  if (!isBranch(value, within)) return
  if (member.type !== 'Resource') {
    yield* objectInPieces(value, shapeIn(member), within)
    checkKind(value, member, within)
    yield* rulesInPieces(member.rules, value, within)
  } else if (member.key !== 'contained') yield* rootInPieces(value, within)
  else {
    const leave = enterContained(value, within)
    yield* resourceInPieces(value, insideContained(value, within))
    leave()
  }
}
