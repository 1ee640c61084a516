// The search box and the theme, without a server: the index is a script beside this one.
(() => {
    const here = document.currentScript ?? document.querySelector('script[data-root]');
    const { root, language, none } = here.dataset;
    const box = document.getElementById('search');
    const list = document.getElementById('found');
    const shown = 12;
    let chosen = -1;

    // Every word must be somewhere in a section; in its title it weighs more. Chinese has no spaces: a
    // run of characters is looked for as it is.
    function find(text) {
        const words = text.toLowerCase().split(/\s+/).filter(Boolean);
        if (!words.length) return [];
        const found = [];
        for (const [address, tongue, page, title, body] of window.TAKT_PAGES) {
            const head = `${page} ${title}`.toLowerCase();
            const rest = body.toLowerCase();
            let weight = tongue === language ? 1 : 0;
            let at = -1;
            for (const word of words) {
                const inHead = head.includes(word);
                const inBody = rest.indexOf(word);
                if (!inHead && inBody < 0) {
                    weight = -1;
                    break;
                }
                weight += (inHead ? 10 : 0) + (title.toLowerCase() === word ? 20 : 0) + (inBody >= 0 ? 1 : 0);
                if (at < 0) at = inBody;
            }
            if (weight >= 0) found.push({ address, page, title, weight, piece: body.slice(Math.max(0, at - 40), at + 100) });
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
