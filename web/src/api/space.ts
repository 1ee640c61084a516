// The namespace that this page is of. It stands in the page's address (/ns/billing/tasks), so that a link leads
// everybody to the same place; without one it is that of the token, else `default`.
const found = /^\/ns\/([a-z0-9][a-z0-9-]{0,62})(?=\/|$)/.exec(location.pathname);

export const space = found?.[1] ?? '';

// What stands before the path of each page.
export const pagesBegin = found?.[0] ?? '/';

// The cluster's own addresses: they are the same in every namespace.
const ofCluster = /^(namespaces|tokens|me|scheduler\/status)(?=[/?]|$)/;

export const addressOf = (path: string, within = space): string =>
    within && !ofCluster.test(path) ? `/api/v1/namespaces/${within}/${path}` : `/api/v1/${path}`;

// The first page of a namespace; it is another page, and is loaded as one.
export const firstPageOf = (name: string): string => `/ns/${name}/`;
