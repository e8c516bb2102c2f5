// The page of made questions comes to life.

chooseLanguage(preferredLanguage(navigator.languages ?? [navigator.language]));
openLabels(JSON.parse(document.getElementById("data").textContent), REVIEWS, "auto");
