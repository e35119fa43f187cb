/**
 * Returns a function that creates a value at its first call, and returns the same value at each call. Callers mark calls of `once` as pure,
 * so that a bundle omits values that its function does not use.
 */
export function once<Made>(make: () => Made): () => Made {
  let made: { readonly it: Made } | undefined
  return () => {
    made ??= { it: make() }
    return made.it
  }
}
