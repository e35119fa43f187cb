/** Implementation of `resolve()` within the resource of the evaluation. https://hl7.org/fhir/R4/fhirpath.html#functions */
import { RELATIVE_REFERENCE } from '../../references.ts'
import { type Element, isElement, isResource } from '../../resource.ts'
import { findContained } from '../contained-resources.ts'

/**
 * Resolver of references between elements of one resource. Create one per evaluation: it caches the elements of the copy that this
 * evaluation uses.
 */
export class LocalReferenceResolver {
  readonly #root: Element
  #containers: ReadonlyMap<unknown, Element> | undefined

  constructor(root: Element) {
    this.#root = root
  }

  /** Returns the resource whose contained resources a `#id` in this element names. In a Bundle, that is the resource of the entry. */
  containerOf(element: unknown): Element {
    this.#containers ??= containersIn(this.#root)
    return this.#containers.get(element) ?? this.#root
  }

  /**
   * Returns the target of a reference in this element: a contained resource, its container for `#`, or the resource of a Bundle entry.
   * Returns undefined if there is none.
   */
  find(reference: string, element: unknown): Element | undefined {
    if (!reference.startsWith('#')) return this.#entryOf(reference)
    const container = this.containerOf(element)
    return reference === '#' ? container : findContained(reference.slice(1), container.contained)
  }

  #entryOf(reference: string): Element | undefined {
    const { entry } = this.#root
    const entries: readonly Element[] = Array.isArray(entry) ? entry.filter(isElement) : []
    const isNamed = ({ fullUrl }: Element): boolean =>
      fullUrl === reference || (RELATIVE_REFERENCE.test(reference) && String(fullUrl).endsWith(`/${reference}`))
    const found = entries.find(isNamed)?.resource
    return isResource(found) ? found : undefined
  }
}

/**
 * Returns the container of each element: the resource in which a `#id` is resolved. For elements of a contained resource, it is the
 * resource that contains it.
 */
function containersIn(root: Element): ReadonlyMap<unknown, Element> {
  const containers = new Map<unknown, Element>()
  const walk = (tree: unknown, container: Element): void => {
    if (Array.isArray(tree)) for (const each of tree) walk(each, isResource(each) ? each : container)
    else if (isElement(tree)) {
      containers.set(tree, container)
      for (const [key, value] of Object.entries(tree)) {
        if (key === 'contained' && Array.isArray(value)) for (const each of value) walk(each, container)
        else walk(value, isResource(value) ? value : container)
      }
    }
  }
  walk(root, root)
  return containers
}
