/** What a reference refers to: of what type, and as which profile where it is at hand. https://hl7.org/fhir/R4/references.html */
import { targetType } from '../path/refers.ts'
import { type Element, isElement, isResource } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import { type Check, report } from './checking.ts'
import { type Item, itemOf } from './items.ts'
import { ownType } from './library.ts'

/** `profiles`: of what it may refer to. The store is never asked: only what is contained, or in the same Bundle, is looked at. */
export function checkTargets(profiles: readonly string[], { value }: Item, check: Check): void {
  if (profiles.length === 0 || !isElement(value)) return
  const types = typesOf(profiles, check)
  const type = targetType(value, check.owner)
  if (type === undefined || !isResourceType(type)) return
  if (types !== undefined && !types.has(type) && !types.has('Resource')) {
    report(check, 'value', 'target', `A reference to ${type} is not allowed here, only to ${[...types].join(', ')}`)
    return
  }
  const target = resolved(value, check)
  if (target !== undefined) checkTarget(profiles, target, type, check)
}

function checkTarget(profiles: readonly string[], target: Element, type: string, check: Check): void {
  const fitting = profiles.filter((canonical) => ownType(canonical) !== undefined || check.library.tree(canonical)?.profile.type === type)
  if (fitting.some((canonical) => ownType(canonical) === type || ownType(canonical) === 'Resource')) return
  const faults = check.faults.apart()
  const owner = check.root.resourceType === 'Bundle' && !isContained(target, check) ? target : check.owner
  check.again.oneOf(fitting, itemOf(target), type, { ...check, owner, faults, pending: [] })
  if (faults.errors > 0) report(check, 'value', 'target', `What is referred to is not as it must be: ${fitting.join(' or ')}`)
}

const isContained = (target: Element, { owner }: Check): boolean => elementsIn(owner.contained).includes(target)

/** undefined: one of the profiles is not loaded. */
export function typesOf(profiles: readonly string[], { library }: Pick<Check, 'library'>): ReadonlySet<string> | undefined {
  const types = profiles.map((canonical) => ownType(canonical) ?? library.tree(canonical)?.profile.type)
  return types.every((type) => type !== undefined) ? new Set(types) : undefined
}

/** What is contained, or in the same Bundle. */
export function resolved(reference: Element, { owner, root }: Pick<Check, 'owner' | 'root'>): Element | undefined {
  const { reference: text } = reference
  if (typeof text !== 'string') return undefined
  if (text.startsWith('#')) return elementsIn(owner.contained).find(({ id }) => id === text.slice(1))
  if (root.resourceType !== 'Bundle') return undefined
  return elementsIn(root.entry).find((entry) => isNamed(entry, text))?.resource as Element | undefined
}

function isNamed({ fullUrl, resource }: Element, text: string): boolean {
  if (fullUrl === text) return true
  const isRelative = /^[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/.test(text)
  if (!isRelative || !isResource(resource)) return false
  return `${resource.resourceType}/${resource.id}` === text || (typeof fullUrl === 'string' && fullUrl.endsWith(`/${text}`))
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
