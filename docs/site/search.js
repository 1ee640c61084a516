// The search box and the theme, without a server: the index is a script beside this one.
(() => {
    const here = document.currentScript ?? document.querySelector('script[data-root]');
    const { root, language, none } = here.dataset;
    const box = document.getElementById('search');
    const list = document.getElementById('found');
    const shown = 12;
    let chosen = -1;

    // How often a word stands in a text: {begins} at the beginning of one of its words, {inside} elsewhere
    // ("lease" in "released"). Chinese has no spaces: each of its characters begins something.
    function count(text, word) {
        let begins = 0;
        let inside = 0;
        let first = -1;
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
            const begin = !/[a-z0-9]/.test(word[0]) || at === 0 || !/[a-z0-9]/.test(text[at - 1]);
            if (begin) {
                if (!begins) first = at;
                begins += 1;
            } else {
                if (first < 0) first = at;
                inside += 1;
            }
        }
        return { begins, inside, first };
    }

    // Every word must be somewhere in a section; in its title it weighs more. Equal ones stay in the order
    // of the navigation.
    function find(text) {
        const words = text.toLowerCase().split(/\s+/).filter(Boolean);
        if (!words.length) return [];
        const found = [];
        for (const [address, tongue, page, title, body] of window.TAKT_PAGES) {
            let weight = tongue === language ? 20 : 0;
            let at = -1;
            for (const word of words) {
                const inPage = count(page.toLowerCase(), word);
                const inTitle = count(title.toLowerCase(), word);
                const inBody = count(body.toLowerCase(), word);
                const own =
                    (inPage.begins ? 8 : 0) +
                    (inTitle.begins ? 12 : 0) +
                    (title.toLowerCase() === word ? 20 : 0) +
                    Math.min(inBody.begins, 5) +
                    (inPage.inside + inTitle.inside + inBody.inside ? 0.1 : 0);
                if (!own) {
                    weight = -1;
                    break;
                }
                weight += own;
                if (at < 0) at = inBody.first;
            }
            if (weight >= 0) {
                const from = Math.max(0, at - 40);
                found.push({ address, page, title, weight, piece: body.slice(from, from + 140) });
            }
        }
        return found.sort((a, b) => b.weight - a.weight).slice(0, shown);
    }

    function show() {
        const found = find(box.value);
        chosen = -1;
        list.replaceChildren(
            ...found.map(({ address, page, title, piece }) => {
                const item = document.createElement('li');
                const link = document.createElement('a');
                link.href = `${root}/${address}`;
                link.textContent = title && title !== page ? `${page} › ${title}` : page;
                const small = document.createElement('small');
                small.textContent = piece;
                link.append(small);
                item.append(link);
                return item;
            }),
        );
        if (!found.length && box.value.trim()) list.textContent = none;
        list.hidden = !box.value.trim();
    }

    function choose(step) {
        const links = [...list.querySelectorAll('a')];
        if (!links.length) return;
        chosen = (chosen + step + links.length) % links.length;
        links.forEach((link, at) => link.classList.toggle('chosen', at === chosen));
        links[chosen].scrollIntoView({ block: 'nearest' });
    }

    box.addEventListener('input', show);
    // A link to what was looked for: index.html?search=lease
    const asked = new URLSearchParams(location.search).get('search');
    if (asked) {
        box.value = asked;
        show();
    }
    box.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            choose(event.key === 'ArrowDown' ? 1 : -1);
        } else if (event.key === 'Enter') {
            const links = list.querySelectorAll('a');
            links[Math.max(0, chosen)]?.click();
        } else if (event.key === 'Escape') {
            box.value = '';
            show();
        }
    });
    document.addEventListener('keydown', (event) => {
        if (event.key === '/' && document.activeElement !== box) {
            event.preventDefault();
            box.focus();
        }
    });
    document.addEventListener('click', (event) => {
        if (!list.contains(event.target) && event.target !== box) list.hidden = true;
    });

    // A browser that keeps nothing for files shows the system's theme each time.
    const themes = document.documentElement.dataset;
    try {
        if (localStorage.theme) themes.theme = localStorage.theme;
    } catch {
        /* Not allowed here. */
    }
    document.getElementById('theme').addEventListener('click', () => {
        const dark = themes.theme ? themes.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
        themes.theme = dark ? 'light' : 'dark';
        try {
            localStorage.theme = themes.theme;
        } catch {
            /* Not allowed here. */
        }
    });
})();
