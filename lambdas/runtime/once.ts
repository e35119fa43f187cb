/** What is made when it is first asked for. Marked as pure where it is called, so that a bundle leaves out what nobody asks for. */
export function once<Made>(make: () => Made): () => Made {
  let made: { readonly it: Made } | undefined
  return () => {
    made ??= { it: make() }
    return made.it
  }
}
